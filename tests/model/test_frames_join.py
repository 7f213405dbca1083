"""Joins by frames as they are declared: how windows are read, the watermark handed on, and documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import SpecError
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import Access, frames
from fanlight.model.join.sides import Side
from fanlight.model.spec_json import from_document, to_document
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.watermarks import Combine, Explicit, Several

LEFT, RIGHT = Side("s", "ts", keys=("id",)), Side("o", "at", keys=("id",))
NEAR = fl.interval("-1 s", "1 s")


def spec(o: Any, kept: fl.Retention | None = None, **more: Any) -> FramesJoinSpec:
    return FramesJoinSpec(LEFT, RIGHT, frames(s=fl.range("3 us"), o=o, **more), kept or fl.retention())


@pytest.mark.parametrize(
    ("frame", "keys", "per", "within", "expected"),
    [
        (fl.rows(5), (), "key", None, Access.SLICE),
        (fl.rows(5), ("id",), "stream", None, Access.SLICE),
        (fl.rows(1_001), ("id",), "stream", None, Access.KEY),
        (fl.range("1 s"), (), "stream", None, Access.SLICE),
        (fl.range("1 s"), (), "stream", NEAR, Access.SLICE),
        (fl.range("1 s"), ("id",), "stream", None, Access.KEY),
        (fl.range("1 min"), ("id",), "stream", NEAR, Access.SLICE),
        (fl.range("61 s"), ("id",), "stream", NEAR, Access.KEY),
        (fl.unbounded(), ("id",), "stream", NEAR, Access.KEY),
        (fl.unbounded(), (), "stream", None, Access.SLICE),
        (fl.rows(5), ("id",), "key", None, Access.KEY),
    ],
    ids=str,
)
def test_windows_are_read_by_the_matrix_of_samza(
    frame: Any, keys: tuple[str, ...], per: Any, within: fl.Interval | None, expected: Access
) -> None:
    """Its rows one after the other: by rows or by time, keys, a time range, the size. The last one is ours."""
    sides = replace(LEFT, keys=keys), replace(RIGHT, keys=keys)
    match = frames(s=fl.unbounded(), o=frame, per=per, within=within)
    assert FramesJoinSpec(*sides, match, fl.retention()).access("o") is expected


@pytest.mark.parametrize(
    ("o", "kept", "stamp", "handed_on"),
    [
        (fl.range("9 us"), None, "left", 97),
        (fl.range("9 us"), None, "right", 91),
        (fl.range("9 us"), None, "least", 91),
        (fl.rows(2), None, "greatest", 100),
        (fl.rows(2), None, "right", START_OF_TIME),
        (fl.rows(2), fl.retention("20 us"), "least", 80),
        (fl.range("9 us"), fl.retention("4 us"), "right", 96),
    ],
)
def test_the_watermark_handed_on_is_behind_by_what_windows_reach(o: Any, kept: Any, stamp: Any, handed_on: int) -> None:
    own = replace(spec(o, kept), stamp=stamp)
    assert own.hands_on(100) == handed_on
    late = replace(own, lateness=Duration(5))
    assert late.hands_on(100) == max(handed_on - 5, START_OF_TIME)
    assert [own.hands_on(end) for end in (START_OF_TIME, END_OF_TIME)] == [START_OF_TIME, END_OF_TIME]


def test_they_are_written_down_and_read_back() -> None:
    own = spec(fl.rows(3), per="stream", within=NEAR, read={"o": "key"})
    held = replace(own, early=fl.every("1 min"), retention=fl.retention("1 h", messages=True, offsets="offset"))
    assert from_document(to_document(held)) == held
    assert held.in_one_shard
    assert held.needs_clock
    assert not spec(fl.rows(3)).in_one_shard


def test_a_side_that_is_called_like_a_word_is_named_in_a_mapping() -> None:
    match = frames({"per": fl.rows(1), "read": fl.unbounded()}, read={"per": "slice"})
    assert str(match) == "per: the 1 newest; read: all rows"


def test_the_greatest_of_both_watermarks_is_refused() -> None:
    told = Several((("o", Explicit()), ("s", Explicit())), Combine.MAX)
    with pytest.raises(SpecError, match="moves with the watermark of that side"):
        replace(spec(fl.rows(3)), watermark=told)
