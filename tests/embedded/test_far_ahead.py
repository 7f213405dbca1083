"""One record of the year 2099 among those of today: it is a dead letter, and what comes after it is not late."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
FAR = datetime(2099, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
TIMES = [NOON, FAR, NOON + timedelta(seconds=20), NOON + timedelta(seconds=80)]


def counted(source: Any, watermark: Any = None, **options: Any) -> fl.Result:
    """One record a bundle, in windows of a minute; nothing waits for what is out of order."""
    return (
        fl.stream(source, time="ts", rows=1, watermark=watermark or fl.bounded_disorder("0 s"), **options)
        .window(fl.tumbling("1 minute"))
        .agg(n=fl.count())
    )


def table(times: list[datetime] = TIMES) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "arrived": [NOON] * len(times)})


def ticking() -> Iterator[datetime]:
    now = NOON
    while True:
        yield now
        now += timedelta(seconds=30)


CLOCKS: dict[str, Any] = {"column": lambda: "arrived", "callable": lambda: ticking().__next__}


@pytest.mark.parametrize("clock", CLOCKS.values(), ids=CLOCKS)
@pytest.mark.parametrize("watermark", [None, fl.stream_time()], ids=["by bundle", "by record"])
def test_one_record_of_2099_is_a_dead_letter_and_moves_no_watermark(clock: Any, watermark: Any) -> None:
    result = counted(table(), clock=clock(), watermark=watermark)
    assert result.table().column("n").to_pylist() == [2, 1]
    [letter] = result.dead_letters.to_pylist()
    assert (letter["reason"], letter["watermark"], letter["record"]["ts"]) == ("too_far_ahead", NOON, FAR)
    assert json.loads(letter["detail"])["ahead"] == "1 d"
    assert (result.accounting.received, result.accounting.accepted, result.accounting.dead_letters) == (4, 3, 1)


def test_without_a_limit_or_a_clock_it_counts_and_all_after_it_is_late() -> None:
    for result in (counted(table(), clock="arrived", ahead=None), counted(table())):
        assert result.table().column("n").to_pylist() == [1, 1]
        assert result.dead_letters.column("reason").to_pylist() == ["expired", "expired"]


def test_the_limit_is_the_clock_and_ahead_to_the_microsecond() -> None:
    """The operator is told its clock, and a clock never goes back: so noon counts, whatever is said later."""
    operator = counted([], ahead="2 hours", watermark=fl.Explicit()).operator()
    limit = NOON + timedelta(hours=2)
    operator.add({"ts": FAR})  # no clock has been told
    operator.add([{"ts": limit}, {"ts": limit + timedelta(microseconds=1)}], clock=NOON)
    operator.add({"ts": limit + timedelta(microseconds=2)}, clock=NOON - DAY)
    letters = operator.take_dead_letters().to_pylist()
    assert [(letter["reason"], letter["record"]["ts"] - limit) for letter in letters] == [
        ("too_far_ahead", timedelta(microseconds=1)),
        ("too_far_ahead", timedelta(microseconds=2)),
    ]
    assert json.loads(letters[0]["detail"]) == {"clock": "2026-03-01T12:00:00Z", "ahead": "2 h"}
    assert operator.accounting.accepted == 2


def test_only_times_of_records_are_compared_with_the_clock() -> None:
    """Positions are no times, and in windows of the clock no time is read."""
    keyed = fl.stream(table(), time="ts", rows=1, delay="0 s", clock="arrived")
    assert keyed.window(fl.counting(4, per="stream")).agg(n=fl.count()).table().column("n").to_pylist() == [4]
    assert keyed.window(fl.tumbling("1 h", domain="processing")).agg(n=fl.count()).accounting.accepted == 4


def test_a_limit_below_zero_is_refused() -> None:
    with pytest.raises(fl.SpecError, match=r"`ahead` \(-1 s\) is negative"):
        counted([], ahead="-1 s")
