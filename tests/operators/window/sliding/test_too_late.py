"""A record is too late when every sliding window has expired that holds it: its own, and those of others.

Windows reach ten back, both ends inside; the watermark is 100, so a window that ends at 100 or before has expired.

    own window of 99      [89----------99]  ends at 100: expired
    window of 105               [95----------105]  holds 99 too, and has not
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.operators.window.accepting import Record, Shard
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.kernels.sliding_windows import Anchors
from fanlight.model.semantics import LateBy
from fanlight.model.time.duration import Duration
from fanlight.operators.window.sliding.row_log import LoggedRows, RowLog
from fanlight.operators.window.sliding.too_late import too_late


def judged(*records: Record, known: tuple[Record, ...] = (), anchor: str = "trailing", **fields: Any) -> list[bool]:
    """Which records are dead, given those that are known already."""
    kind = fl.sliding("10 us", anchor)
    shard = Shard(kind, fields)
    log = RowLog(shard.plan, WatchedStore("atoms"), 10)
    log.append(LoggedRows.of(shard.plan, shard.accepted(*known)))
    anchors = Anchors.of(kind, 1, shard.plan.spec.semantics)
    return too_late(shard.plan, anchors, shard.lateness, log, shard.accepted(*records, watermark=100)).tolist()


def test_its_own_window_decides_where_there_are_no_others() -> None:
    """The window of 99 ends after 99, at 100; that of 100 at 101."""
    assert judged((99, "a"), (100, "b")) == [True, False]


@pytest.mark.parametrize(("other", "dead"), [(105, False), (109, False), (110, True)])
def test_the_window_of_a_known_record_may_hold_it(other: int, dead: bool) -> None:
    """The window of 109 starts at 99; that of 110 at 100, and is too late for 99."""
    assert judged((99, "a"), known=((other, "a"),)) == [dead]


def test_windows_of_other_keys_do_not_count() -> None:
    assert judged((99, "a"), known=((105, "b"),)) == [True]


def test_a_known_record_whose_window_has_expired_is_no_help() -> None:
    assert judged((95, "a"), known=((98, "a"),)) == [True]


def test_records_of_the_same_bundle_that_are_in_time_count_like_known_ones() -> None:
    assert judged((99, "a"), (105, "a")) == [False, False]


def test_records_of_the_same_bundle_that_are_too_late_themselves_do_not() -> None:
    """With `both` 99 would start a window at 100 that holds nothing, and 97 one at 98 that holds 99 and ends at 109.

    But 97 is known only if it is accepted, and it is as late as the other.
    """
    assert judged((97, "a"), (99, "a"), anchor="both") == [True, True]
    assert judged((99, "a"), known=((97, "a"),), anchor="both") == [False]


def test_forward_its_own_window_starts_with_it() -> None:
    """The window of 89 is [89, 100) and has expired; that of 90 ends at 101."""
    assert judged((89, "a"), (90, "b"), anchor="forward") == [True, False]
    assert judged((89, "a"), known=((90, "a"),), anchor="forward") == [True]


def test_lateness_is_added_to_the_end() -> None:
    assert judged((96, "a"), (97, "b"), lateness=Duration(3)) == [True, False]


def test_where_its_time_alone_decides_no_window_does() -> None:
    fields = {"semantics": fl.Semantics(late_by=LateBy.RECORD)}
    assert judged((99, "a"), (100, "b"), known=((105, "a"),), **fields) == [True, False]


def test_nothing_is_nothing() -> None:
    assert judged() == []
