"""A picture of a pipeline without other records is one of its own run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.viz import TimelineStep, timeline

from .drawing import read

ORDERS = [{"ts": ts, "k": k, "p": ts} for ts, k in [(2, "a"), (7, "a"), (12, "b"), (9, "a"), (28, "b"), (5, "a")]]


def orders(source: Any = ORDERS, **options: Any) -> fl.Stream:
    return fl.stream(source, time="ts", unit="s", delay="0 s", **options)


def totals(stream: fl.Stream) -> fl.Result:
    return stream.key_by("k").window(fl.tumbling("10 s"), lateness="5 s").agg(total=fl.sum("p"))


def generated() -> Iterator[dict[str, Any]]:
    yield from ORDERS


@pytest.mark.parametrize(
    ("options", "bundles"),
    [
        ({"rows": 1}, [[order] for order in ORDERS]),
        ({"rows": 4}, [ORDERS[:4], ORDERS[4:]]),
        ({"every": "10 s"}, [ORDERS[:2], ORDERS[2:4], ORDERS[4:]]),
        ({}, [ORDERS]),
    ],
    ids=["one by one", "by four", "by time", "one bundle"],
)
def test_its_bundles_are_the_steps(options: dict[str, Any], bundles: list[Any]) -> None:
    assert timeline(totals(orders(**options))) == timeline(totals(orders(**options)), bundles)


@pytest.mark.parametrize(
    "source",
    [ORDERS, pa.Table.from_pylist(ORDERS), generated(), pa.Table.from_pylist(ORDERS).to_reader()],
    ids=["list", "table", "generator", "reader"],
)
def test_from_any_source(source: Any) -> None:
    assert timeline(totals(orders(source, rows=2))) == timeline(totals(orders(rows=2)))


def test_the_pipeline_can_still_be_read() -> None:
    result = totals(orders(rows=1))
    timeline(result)
    assert result.accounting.received == len(ORDERS)


def test_a_source_that_is_read_once_says_so() -> None:
    result = totals(orders(generated(), rows=1))
    timeline(result)
    with pytest.raises(fl.InputError, match="can be read once, and has been"):
        result.table()


def test_a_clock_comes_with_the_bundles() -> None:
    early = orders(rows=1, clock="ts").window(fl.tumbling("1 min")).trigger(fl.at_watermark(early=fl.every("10 s")))
    assert any("EARLY" in text for text in read(timeline(early.agg(n=fl.count()))).tooltips())


class TestPrepared:
    def test_what_is_left_out_is_not_drawn_and_still_moves_the_watermark(self) -> None:
        """Without 28 itself, the watermark it moves closes [10, 20) in its step, the fifth."""
        result = totals(orders(rows=1).where(fl.col("p") < 28))
        drawing = read(timeline(result))
        assert sum(text.startswith("record") for text in drawing.tooltips()) == 5
        assert any("step 5: ON_TIME total=12" in text for text in drawing.tooltips())

    def test_inputs_of_a_union_are_one(self) -> None:
        both = fl.union(a=orders(rows=3), b=orders(rows=3)).window(fl.tumbling("10 s")).agg(n=fl.count())
        drawing = read(timeline(both))
        assert sum(text.startswith("record") for text in drawing.tooltips()) == 12

    def test_judged_one_by_one_it_is_refused(self) -> None:
        stream = fl.stream(ORDERS, time="ts", unit="s", watermark=fl.stream_time()).where(fl.col("p") > 0)
        with pytest.raises(fl.SpecError, match="judged one by one; a picture does not show both"):
            timeline(stream.sort())


def test_of_several_stages_it_is_the_last() -> None:
    most = totals(orders(rows=1)).window(fl.tumbling("20 s")).agg(most=fl.max("total"))
    drawing = read(timeline(most))
    assert [text for text in drawing.texts if text.startswith("most=")] == ["most=18", "most=28"]
    assert any(text.startswith("record") and "total" in text for text in drawing.tooltips())


def test_a_spec_has_no_records() -> None:
    with pytest.raises(fl.SpecError, match="a spec has no records of its own"):
        timeline(totals(orders()).spec)


def test_steps_may_still_be_given() -> None:
    assert "total=3" in timeline(totals(orders([])), [TimelineStep([{"ts": 1, "k": "a", "p": 3}])])
