"""Joins that are spread, as they are declared: which spans rows are in, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import IntervalJoinSpec, interval
from fanlight.model.join.sides import COPY, JoinType, Side
from fanlight.model.spec_json import from_document, to_document
from fanlight.model.time.duration import Duration
from fanlight.model.time.watermarks import BoundedDisorder, Explicit, Several

LEFT, RIGHT = Side("o", "ts", keys=("id",)), Side("p", "at", keys=("id",))
DELAY = BoundedDisorder(Duration(0))
SPEC = IntervalJoinSpec(LEFT, RIGHT, interval("-2 s", "5 s"), spread=Duration.of("7 s"))
CHANGED = replace(LEFT, changes=Changes("op", ("id",), consistent=True))
ORDERS, PAID = (fl.stream([{"ts": 1, "id": 1}], time="ts", unit="s", name=name).key_by("id") for name in "op")


@given(
    st.integers(-20, 20),
    st.integers(0, 12),
    st.integers(0, 9),
    st.integers(-60, 60),
    st.booleans(),
)
def test_every_match_of_a_row_is_in_one_of_its_two_spans(
    least: int, length: int, more: int, time: int, is_right_join: bool
) -> None:
    match = fl.interval(f"{least} us", f"{least + length} us")
    how = JoinType.RIGHT if is_right_join else JoinType.LEFT
    spans = replace(SPEC, match=match, how=how, stamp=how.value, spread=Duration(max(length + more, 1))).spans
    assert spans is not None
    low, high = spans.of_row(time, is_left=is_right_join)  # of the side that is copied
    assert low <= high <= low + 1
    for apart in range(least, least + length + 1):
        partner = time + apart if is_right_join else time - apart
        first, last = spans.of_row(partner, is_left=not is_right_join)
        assert first == last
        assert low <= first <= high


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"spread": Duration.of("6 s")}, "more than two spans. Use at least 7 s"),
        ({"spread": Duration(0)}, "Use a duration of at least 7 s"),
        ({"spread": Duration.FOREVER}, "Use a duration of at least 7 s"),
        ({"match": fl.same_time(), "spread": Duration(0)}, "Use a duration of at least 1 us"),
        ({"how": JoinType.FULL, "stamp": None}, "Use how='left' or how='right'"),
        ({"left": CHANGED, "mode": EmissionMode.ON_CLOSE}, "a change and its row may be in different shards"),
        (
            {"match": interval("0 s", "forever").within(fl.retention()), "spread": Duration.of("1 h")},
            "with no end these may be everywhere",
        ),
        (
            {"watermark": Several((("p", DELAY), ("o", Explicit())), idle=Duration.of("1 min"))},
            "the watermark of 'o' is told and not followed",
        ),
    ],
)
def test_what_is_refused(changed: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        replace(SPEC, **changed)


def test_an_open_bound_needs_one_instant_less() -> None:
    match = fl.interval("-2 s", "5 s", closed="neither")
    assert replace(SPEC, match=match, spread=Duration(6_999_998)).is_spread
    with pytest.raises(SpecError, match="Use at least 6999998 us"):
        replace(SPEC, match=match, spread=Duration(6_999_997))


def test_idle_is_taken_where_watermarks_follow_the_records() -> None:
    watermark = Several((("p", DELAY), ("o", DELAY)), idle=Duration.of("1 min"))
    assert replace(SPEC, watermark=watermark).is_spread


@pytest.mark.parametrize(
    ("match", "said", "told"),
    [
        (fl.as_of("4 s", "nearest"), {"spread": "7 s"}, "Use at least 8 s"),
        (fl.as_of(), {"spread": "7 s", "retention": fl.retention()}, "with no end"),
        (fl.version(), {"spread": "7 s"}, "with no end"),
        (fl.same_window(fl.tumbling("1 min")), {"spread": "7 s"}, "`spread`"),
    ],
)
def test_what_other_joins_refuse(match: Any, said: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        ORDERS.join(PAID, match, **said)


def test_versions_that_are_kept_for_a_time_may_be_spread_but_for_deletes() -> None:
    kept: dict[str, Any] = {"spread": "2 h", "retention": fl.retention("1 h")}
    assert ORDERS.join(PAID, fl.version(), **kept).spec.is_spread
    some = [{"ts": 1, "id": 1, "op": "+I"}]
    deleting = fl.stream(some, time="ts", unit="s", name="p", op="op", unique="id").key_by("id")
    with pytest.raises(SpecError, match="'p' has changes"):
        ORDERS.join(deleting, fl.version(), **kept)


def test_a_side_is_not_called_like_the_mark_of_copies() -> None:
    with pytest.raises(SpecError, match="a side is called '_fanlight_copy'"):
        replace(SPEC, left=replace(LEFT, name=COPY), watermark=Explicit())


def test_documents_have_it_only_where_it_is_said() -> None:
    assert from_document(to_document(SPEC)) == SPEC
    assert "spread" not in to_document(replace(SPEC, spread=None))


def test_what_follows_a_join_keeps_its_spread() -> None:
    joined = ORDERS.join(PAID, fl.interval("0 s", "5 s"), how="left", spread="20 s")
    for result in (joined.eager(), joined.retracting(), joined.agg(n=fl.count()), joined.semantics("kafka")):
        assert result.spec.is_spread
    told = "spreads    on Spark, rows over shards by key and time, in spans of 20 s: a row of o to one, a row of p to"
    assert told in joined.explain()
    assert joined.table().num_rows == 1  # in this process there is one shard
