"""The processor under a watermark and a clock that a test sets; no session is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.model.join.intakes import sided_intakes
from fanlight.model.time.timestamp import LATEST
from fanlight.spark.output import ACCOUNT, FIRING, LETTER
from fanlight.spark.tester import InputsTester, ShardTester
from fanlight.spark.wire import opened
from fanlight.testing.vectors import ENGINES, Status, Vector, load, replay
from fanlight.testing.vectors.drive_spark import SparkDriver

pytestmark = pytest.mark.slow

VECTORS = Path(__file__).parent.parent / "vectors"
CASES = [vector for file in sorted(VECTORS.glob("*.yaml")) for vector in load(file) if vector.op == "window_agg"]
SCHEMA = pa.schema({"ts": pa.int64(), "v": pa.int64()})
SECOND = 1_000_000


def shard_of(**stream: Any) -> ShardTester:
    """Tumbling windows of ten seconds, the sum of `v`."""
    result = fl.stream([], time="ts", unit="s").window(fl.tumbling("10 seconds"), **stream).agg(total=fl.sum("v"))
    return ShardTester(result.spec, SCHEMA)


def bundle(*records: tuple[int, int]) -> list[pa.RecordBatch]:
    return [pa.record_batch({"ts": [ts for ts, _ in records], "v": [v for _, v in records]}, schema=SCHEMA)]


def totals(rows: list[Any], kind: str = FIRING) -> list[Any]:
    chunks = [opened(row["payload"]).to_pylist() for row in rows if row["kind"] == kind]
    return [row["total"] if kind == FIRING else row["record"]["v"] for chunk in chunks for row in chunk]


def test_a_micro_batch_is_judged_by_the_watermark_before_it_and_acts_on_its_own() -> None:
    """The record at 3 comes with the watermark that closes [0, 10), so it is on time; the one at 4 comes after it."""
    shard = shard_of()
    assert totals(shard.batch(bundle((1, 1)), watermark=0, clock=0)) == []
    assert totals(shard.batch(bundle((3, 2)), watermark=10 * SECOND, clock=0)) == [3]
    late = shard.batch(bundle((4, 4), (12, 8)), watermark=10 * SECOND, clock=0)
    assert (totals(late), totals(late, LETTER)) == ([], [4])
    assert totals(shard.batch([], watermark=20 * SECOND, clock=0)) == [8]


def test_a_sum_beyond_int64_is_a_letter_and_the_window_goes_on() -> None:
    """With lateness: out of range at the close, in range again when a late record has come."""
    shard = shard_of(lateness="1 minute")
    shard.batch(bundle((1, 2**62)), watermark=0, clock=0)
    closing = shard.batch(bundle((2, 2**62), (12, 8)), watermark=20 * SECOND, clock=0)
    assert totals(closing) == [8]
    (letter,) = [opened(row["payload"]).to_pylist()[0] for row in closing if row["kind"] == LETTER]
    assert (letter["reason"], letter["record"]) == ("value_out_of_range", None)
    assert json.loads(letter["detail"])["values"] == {"total": str(2**63)}
    (account,) = [row for row in closing if row["kind"] == ACCOUNT]
    assert (account["dead_letters"], account["values_out_of_range"]) == (0, 1)
    assert totals(shard.batch(bundle((3, -1)), watermark=20 * SECOND, clock=0)) == [2**63 - 1]


def test_the_end_of_the_input_closes_what_no_watermark_reaches() -> None:
    """Lateness is forever, so that the greatest watermark there is closes a window and expires none."""
    shard = shard_of(lateness=fl.Duration.FOREVER)
    shard.batch(bundle((1, 1)), watermark=0, clock=0)
    assert totals(shard.batch([], watermark=LATEST, clock=0)) == [1]
    assert totals(shard.batch(bundle((2, 2)), watermark=LATEST, clock=0)) == [3]
    assert totals(shard.batch(bundle((300, 4)), watermark=LATEST, clock=0, ends=True)) == [4]
    kept = shard.shard().store
    assert not any(kept.list(space) for space in ("partials", "firings", "panes", "records", "retained"))


def test_a_step_says_what_became_of_its_records() -> None:
    shard = shard_of()
    shard.batch(bundle((1, 1)), watermark=10 * SECOND, clock=0)
    [account] = [
        row for row in shard.batch(bundle((1, 1), (11, 1), (12, 1)), watermark=0, clock=0) if row["kind"] == ACCOUNT
    ]
    assert [account[name] for name in ("received", "accepted", "duplicates", "dead_letters")] == [3, 2, 0, 1]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_envelope_that_folds_nothing_changes_nothing(monkeypatch: pytest.MonkeyPatch, case: Vector) -> None:
    """On another machine, or after a restart, nothing is known of the shard; records then travel as they are."""
    monkeypatch.setitem(ENGINES, "unfolded", lambda spec, schema: SparkDriver(spec, schema, preaggregates=False))
    verdict = replay(case, "unfolded")
    assert verdict.status is replay(case, "spark").status, verdict.reason
    assert verdict.status is not Status.FAIL, verdict.reason


def test_each_input_is_packed_with_its_own_watermark() -> None:
    """The payment at 9 is behind the watermark of the orders, which is not its own; the order at 4 is behind it."""
    orders, paid = (fl.stream([], time="ts", unit="s", name=name, watermark=fl.Explicit()) for name in ("o", "p"))
    spec = orders.join(paid, fl.interval("0 s", "5 s"), on="v").spec
    shard = InputsTester(spec, {"p": SCHEMA, "o": SCHEMA}, sided_intakes(spec))
    shard.batch({"o": bundle((8, 1))[0]}, watermarks={"o": 10 * SECOND}, clock=0)
    rows = shard.batch({"p": bundle((9, 1))[0], "o": bundle((4, 1))[0]}, watermarks={}, clock=0)
    joined = [opened(row["payload"]).to_pylist() for row in rows if row["kind"] == FIRING]
    letters = [opened(row["payload"]).to_pylist() for row in rows if row["kind"] == LETTER]
    assert joined == [[{"ts": 8, "v": 1, "ts_p": 9}]]
    assert [letter["record"]["o"]["ts"] for letter in letters[0]] == [4]
