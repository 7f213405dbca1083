"""The API as a type-checked user sees it: this file passes `mypy --strict`, and runs.

What must not type-check carries an ignore with its code; under `--strict` an ignore that nothing needs is an error
too, so the file says both what is allowed and what is not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import run
from typing import Any, assert_type

import pandas as pd
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.sinks import Batch, BatchNote, BatchSink

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ORDERS = [
    {"ts": NOON, "product": "tea", "price": 3.0, "paid": True},
    {"ts": NOON + timedelta(seconds=70), "product": "tea", "price": 5.0, "paid": False},
]


def revenue(source: list[dict[str, Any]]) -> fl.Result:
    """A pipeline as in the README; each word has the type that the next one needs."""
    stream = assert_type(fl.stream(source, time="ts", delay="5 seconds", clock="ts", rows=1), fl.Stream)
    keyed = assert_type(stream.key_by("product"), fl.Stream)
    windowed = assert_type(keyed.window(fl.hopping("10 minutes", every="1 minute"), lateness="1 hour"), fl.Windowed)
    trigger = fl.at_watermark(early=fl.every("10 seconds"), late=fl.after(1))
    firing = assert_type(windowed.trigger(trigger, updated_only=True).retracting(), fl.Windowed)
    return assert_type(firing.agg(n=fl.count(), revenue=fl.sum("price"), p50=fl.median("price")), fl.Result)


def test_rows_say_when_they_leave() -> None:
    over = fl.stream(ORDERS, time="ts").key_by("product").over(fl.range("10 minutes"))
    result = assert_type(over.add(n=fl.count()), fl.OverResult)
    assert assert_type(result.eager(), fl.OverResult).table().column("n").to_pylist() == [1, 2]
    assert assert_type(result.retracting(retention="1 hour").spec, fl.OverSpec).fires_once is False
    assert_type(result.on_close().over(fl.rows(1), forget="1 hour").add(before=fl.lag("price")), fl.OverResult)


def test_a_pipeline_reads_as_it_is_typed() -> None:
    result = revenue(ORDERS)
    counts = assert_type(result.accounting, fl.Accounting)
    assert assert_type(counts.accepted, int) == 2
    assert assert_type(counts.adds_up, bool)
    assert assert_type(counts.as_dict(), dict[str, int])["received"] == 2
    assert assert_type(result.spec, fl.WindowSpec).fires_once is False
    assert assert_type(result.spec.lateness, fl.Duration) == fl.Duration.of(timedelta(hours=1))
    # both orders are in the nine windows that reach from 12:01:10 back to noon; one window more has only one of them
    assert result.table().column("n").to_pylist().count(2) == 9


def test_a_join_by_frames_reads_as_it_is_typed() -> None:
    left, right = (fl.stream(ORDERS, time="ts", name=name).key_by("product") for name in ("s", "o"))
    both = assert_type(fl.frames(s=fl.unbounded(), o=fl.rows(3), per="stream", read={"o": "key"}), fl.Frames)
    found = assert_type(left.join(right, both, retention=fl.retention("1 h")), fl.JoinResult)
    assert found.table().num_rows == 4
    operator = assert_type(found.updates(early=fl.every("1 min")).operator(), fl.StandaloneJoin)
    operator.add(ORDERS, source="o")
    assert assert_type(operator.windows("o"), pa.Table).num_rows == 1


def test_one_row_of_each_id_reads_as_it_is_typed() -> None:
    result = fl.stream(ORDERS, time="ts").unique_by("price", within="1 minute", keep="last")
    assert_type(result, fl.RowResult[fl.UniqueSpec])
    with pytest.raises(fl.SpecError, match="keep: 'newest' is not one of first, last"):
        fl.stream(ORDERS, time="ts").unique_by("price", within="1 minute", keep="newest")  # type: ignore[arg-type]


def test_a_sort_reads_as_it_is_typed() -> None:
    result = assert_type(fl.stream(ORDERS, time="ts").sort("price", order="total"), fl.RowResult[fl.SortSpec])
    assert assert_type(result.spec, fl.SortSpec).ties == ("price",)
    operator = assert_type(result.operator(), fl.StandaloneOperator[fl.SortSpec])
    assert assert_type(operator.accounting, fl.Accounting).received == 0
    assert len(result.table()) == 2
    with pytest.raises(fl.SpecError):
        fl.stream(ORDERS, time="ts").sort(order="price")  # type: ignore[arg-type]


def test_every_source_is_accepted() -> None:
    table = pa.Table.from_pylist(ORDERS)

    def generated() -> Iterator[dict[str, Any]]:
        yield from ORDERS

    for stream in (
        fl.stream(table, time="ts"),
        fl.stream(table.to_batches()[0], time="ts"),
        fl.stream(table.to_reader(), time="ts", delay="0 s"),
        fl.stream(table.to_batches(), time="ts", delay=timedelta(0)),
        fl.stream(ORDERS, time="ts"),
        fl.stream(generated(), time="ts", delay="0 s"),
        fl.stream(ORDERS, time="ts", unit="ms", tick=timedelta(milliseconds=1), rows=1, delay="0 s", clock="ts"),
        fl.stream(ORDERS, time="ts", unit=fl.TimeUnit.SECONDS, clock=lambda: NOON),
        fl.stream(ORDERS, time="ts", ahead=timedelta(hours=1), strict=True, clock=lambda: NOON),
        fl.stream(ORDERS, time="ts", unit=None, ahead=None),
        fl.stream(ORDERS, time="ts", watermark=fl.stream_time(), clock=lambda: "2026-03-01T12:00:00Z"),
    ):
        assert stream.window(fl.tumbling("1 day")).agg(n=fl.count()).table().column("n").to_pylist() == [2]


def test_a_frame_is_accepted() -> None:
    stream = fl.stream(pd.DataFrame(ORDERS), time="ts")
    assert stream.window(fl.tumbling("1 day")).agg(n=fl.count()).table().num_rows == 1


def test_words_and_values_say_the_same() -> None:
    windowed = fl.stream(ORDERS, time="ts").window(fl.tumbling(timedelta(minutes=1)))
    assert windowed.stamped("earliest") == windowed.stamped(fl.FiringTime.EARLIEST)
    assert windowed.closing(on_time="always", last="never") == windowed.closing(
        on_time=fl.OnTime.ALWAYS, last=fl.Closing.NEVER
    )
    assert windowed.semantics("beam") == windowed.semantics(fl.Semantics.named("beam"))
    assert fl.every("1 min", domain="event") == fl.every(fl.Duration.of("1 min"), domain=fl.TimeDomain.EVENT)
    assert fl.tumbling("1 h", domain="processing") == fl.tumbling("PT1H", domain=fl.TimeDomain.PROCESSING)


def test_every_trigger_is_a_trigger() -> None:
    triggers: list[fl.Trigger] = [
        fl.at_watermark(),
        fl.at_expiry(),
        fl.after(10),
        fl.after_delay("1 min"),
        fl.every("1 min"),
        fl.on_signal(),
        fl.never(),
        fl.any_of(fl.after(1), fl.after_delay("1 s")),
        fl.all_of(fl.after(1), fl.after_delay("1 s")),
        fl.in_order(fl.after(1), fl.after(10)),
        fl.repeat(fl.after(1)),
        fl.until(fl.repeat(fl.after(1)), fl.after(100)),
        fl.samza_policies(early=fl.after(10)),
    ]
    windowed = fl.stream(ORDERS, time="ts", clock="ts").window(fl.global_window())
    for trigger in triggers:
        assert windowed.trigger(trigger).agg(n=fl.count()).spec.trigger == trigger


def test_every_aggregate_is_an_aggregate() -> None:
    aggregates: dict[str, fl.Aggregate] = {
        "n": fl.count(),
        "prices": fl.count("price"),
        "total": fl.sum("price"),
        "least": fl.min("price"),
        "greatest": fl.max("price"),
        "mean": fl.avg("price"),
        "spread": fl.variance("price", population=True),
        "deviation": fl.stddev("price"),
        "opening": fl.first("price"),
        "close": fl.last("price"),
        "some_paid": fl.any("paid"),
        "all_paid": fl.all("paid"),
        "each": fl.list("price", by_arrival=True),
        "p50": fl.median("price"),
        "p90": fl.quantile("price", 0.9),
        "kinds": fl.count_distinct("product"),
    }
    (row,) = fl.stream(ORDERS, time="ts").window(fl.tumbling("1 day")).agg(**aggregates).table().to_pylist()
    del row["window"]
    assert row.pop("deviation") == pytest.approx(2**0.5)  # of 3 and 5: the sample's variance is 2, the population's 1
    assert row.pop("p90") == pytest.approx(4.8)  # nine tenths of the way from 3 to 5
    assert row == {
        "n": 2, "prices": 2, "total": 8.0, "least": 3.0, "greatest": 5.0, "mean": 4.0, "spread": 1.0, "opening": 3.0,
        "close": 5.0, "some_paid": True, "all_paid": False, "each": [3.0, 5.0], "p50": 4.0, "kinds": 1,
    }  # fmt: skip


class Dearest(fl.UserAggregate):
    """An aggregate of one's own needs no annotation beyond its own."""

    state_type = pa.float64()
    output_type = pa.float64()

    def zero(self) -> float:
        return 0.0

    def add(self, state: float, value: float) -> float:
        return max(state, value)

    def merge(self, left: float, right: float) -> float:
        return max(left, right)

    def finish(self, state: float) -> float:
        return state


def test_an_operator_is_fed_by_hand() -> None:
    pipeline = (
        fl.stream([], time="ts", watermark=fl.several({"left": fl.Explicit(), "right": fl.bounded_disorder("1 s")}))
        .key_by("product")
        .window(fl.tumbling("1 minute"), retention=fl.retention("1 hour", count=100, messages=True))
        .agg(dearest=Dearest("price"))
    )
    operator = assert_type(pipeline.operator(), fl.WindowOperator)
    operator.add(ORDERS, offset=0, source="left", clock=NOON)
    operator.add(ORDERS[0], offset=[7], source="right", watermark="2026-03-01T12:01:00Z")
    operator.advance(source="left", watermark=NOON + timedelta(minutes=1))
    assert assert_type(operator.watermark, int) == assert_type(operator.clock, int) + 60_000_000
    assert assert_type(operator.is_bound, bool)
    assert operator.take().column("dearest").to_pylist() == [3.0]
    assert operator.windows(NOON, None).num_rows == 2
    assert operator.messages("2026-03-01T12:00:00Z", NOON + timedelta(minutes=1), key="tea").num_rows == 2
    again = fl.WindowOperator.restore(pipeline.spec, assert_type(operator.snapshot(), bytes), capacity=10)
    assert_type(again, fl.WindowOperator).end()
    assert again.results().num_rows == 1
    again.flush()


def test_hooks_and_a_downstream_are_functions_of_batches() -> None:
    def seen(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch

    def willing(batch: pa.RecordBatch) -> bool:
        return True

    spec = revenue(ORDERS).spec
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("product", pa.string()), ("price", pa.float64())])
    operator = fl.WindowOperator(spec, schema=schema, before_process=seen, before_send=seen, downstream=willing)
    assert operator.is_bound
    fl.WindowOperator(spec, downstream=[].append)


class Shelf:
    """A sink of a user's own, as docs/sinks.md has it."""

    place = "the shelf"

    def newest(self, query: str) -> BatchNote | None:
        return None

    def take(self, rows: pa.Table, batch: Batch) -> None:
        assert_type(batch.note, BatchNote)


def test_a_sink_of_ones_own_is_a_target() -> None:
    sink: BatchSink = Shelf()
    totals = revenue(ORDERS)
    with pytest.raises(fl.SpecError, match=r"`unique` \(id\) tells rows apart"):
        totals.write_to(Shelf(), dead_letters=sink, unique="id")
    with pytest.raises(fl.SpecError, match="known by key and window already"):
        totals.write_to("sqlite:///t.db", table="t", unique=("shop", "id"))
    with pytest.raises(fl.SpecError, match="a int is no target for rows"):
        totals.write_to(7)  # type: ignore[arg-type]


def test_errors_are_caught_by_their_kind() -> None:
    for kind in (fl.SpecError, fl.InputError, fl.StateError, fl.EngineError, fl.BackPressure, fl.VectorError):
        assert issubclass(kind, fl.FanlightError)
    with pytest.raises(ValueError, match="above zero"):
        fl.tumbling("0 s")


def test_what_does_not_fit_is_refused_by_the_checker_and_at_run_time() -> None:
    windowed = fl.stream(ORDERS, time="ts").window(fl.tumbling("1 minute"))
    with pytest.raises(fl.SpecError, match="says no unit"):
        fl.tumbling(60)  # type: ignore[arg-type]
    with pytest.raises(fl.SpecError, match="is not an aggregate"):
        windowed.agg(n=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        fl.stream(ORDERS)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        fl.hopping("1 minute")  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        windowed.lateness = fl.Duration.of("1 hour")  # type: ignore[misc]
    with pytest.raises(AttributeError):
        fl.stream(ORDERS, time="ts").agg(n=fl.count())  # type: ignore[attr-defined]


@pytest.mark.slow
def test_the_checker_agrees() -> None:
    root = Path(__file__).resolve().parents[2]
    checked = run(
        [sys.executable, "-m", "mypy", "--strict", str(Path(__file__).relative_to(root))],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
