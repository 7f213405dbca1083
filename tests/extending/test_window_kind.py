"""A kind of window of one's own (`examples/extending/window_kind.py`), on both engines and beside the oracle."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.windows.window import Window
from fanlight.spark.output import FIRING
from fanlight.spark.tester import ShardTester
from fanlight.spark.wire import opened
from fanlight.testing import oracle
from fanlight.testing.player import play
from fanlight.testing.script import Step, same

EXAMPLE = Path(__file__).parents[2] / "examples" / "extending" / "window_kind.py"
TOLD = [
    "01 22:00 to 02 06:00  line A    7",
    "02 06:00 to 02 14:00  line A   42",
    "02 14:00 to 02 22:00  line B   31",
    "02 22:00 to 03 06:00  line A   20",
    "03 06:00 to 03 14:00  line B    5",
]
"""40 and 2 pieces are of one shift; those of 23:00 and of 3:00 the next day too."""
HOUR = Duration.of("1 h").micros
DAY = 24 * HOUR
SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string()})


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("window_kind", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["window_kind"] = module  # where a dataclass looks for its module
    spec.loader.exec_module(module)
    return module


example = loaded()
times_of_day = st.lists(st.integers(0, 23), min_size=1, max_size=4, unique=True).map(sorted)


def kind_of(hours: list[int]) -> fl.WindowKind:
    kind: fl.WindowKind = example.shifts(*(f"{hour} h" for hour in hours))
    return kind


@oracle.windows_around.register(example.Shifts)
def shift_around(kind: Any, time: int) -> Iterable[Window]:
    """The law of shifts, read slowly: all that start from the day before to the day after."""
    first = time // DAY - 1
    starts = [day * DAY + start.micros for day in range(first, first + 4) for start in kind.starts]
    return [Window(*pair) for pair in pairwise(starts) if pair[0] <= time < pair[1]]


def test_the_example_says_what_each_shift_made(capsys: pytest.CaptureFixture[str]) -> None:
    example.main([])
    assert capsys.readouterr().out.splitlines() == TOLD


@given(
    times_of_day,
    st.lists(st.tuples(st.integers(-3 * DAY, 3 * DAY), st.sampled_from("ab")), max_size=12),
    st.sampled_from([fl.at_watermark(), fl.at_watermark(early=fl.after(2))]),
    st.integers(0, 10 * HOUR).map(Duration),
)
def test_the_engine_gives_what_the_oracle_says(
    hours: list[int], records: list[tuple[int, str]], trigger: fl.Trigger, lateness: Duration
) -> None:
    """All that a kind brings is its slicing: triggers, lateness and dead letters are the engine's."""
    spec = WindowSpec("ts", kind_of(hours), (("n", fl.count()),), keys=("k",), trigger=trigger, lateness=lateness)
    steps = [*(Step(records=({"ts": time, "k": key},)) for time, key in records), Step(end=True)]
    assert same(play(spec, steps, SCHEMA), oracle.run(spec, steps))


def test_its_results_can_be_grouped_again() -> None:
    """Both lines worked in the early shift, 3 pieces of A and 4 of B; in the late one only A."""
    worked = [(7, "A", 3), (8, "B", 4), (15, "A", 5)]
    records = [{"ts": hour * HOUR, "k": key, "n": pieces} for hour, key, pieces in worked]
    totals = fl.stream(records, time="ts", unit="us").key_by("k").window(kind_of([6, 14])).agg(n=fl.sum("n"))
    rows = totals.rewindow().agg(n=fl.sum("n")).table().to_pylist()
    assert [row["n"] for row in rows] == [7, 5]


def test_explain_tells_its_name_and_fields() -> None:
    assert "windows    Shifts starts [6 h, 14 h, 22 h], lateness 1 h" in example.totals(example.PIECES).explain()


def test_a_kind_that_does_not_say_how_it_is_cut_is_told_what_to_do() -> None:
    class Bare(fl.WindowKind):
        """Says nothing."""

    with pytest.raises(fl.SpecError, match=r"Give it a method `slicing\(semantics\)`"):
        fl.stream([{"ts": 1}], time="ts", unit="s").window(Bare()).agg(n=fl.count()).table()


def test_shifts_that_do_not_ascend_are_refused() -> None:
    with pytest.raises(fl.SpecError, match="must ascend within one day"):
        example.shifts("14 h", "6 h")


@pytest.mark.slow
@pytest.mark.parametrize("preaggregates", [True, False], ids=["aggregated before it travels", "as it came"])
def test_a_micro_batch_is_cut_by_it(preaggregates: bool) -> None:
    """The processor that runs on Spark: two records of the early shift, which 14:00 closes; the third waits."""
    spec = WindowSpec("ts", kind_of([6, 14, 22]), (("n", fl.count()),), keys=("k",))
    shard = ShardTester(spec, SCHEMA, preaggregates=preaggregates)
    worked = pa.record_batch({"ts": [7 * HOUR, 8 * HOUR, 15 * HOUR], "k": ["A", "A", "A"]}, schema=SCHEMA)
    left = shard.batch([worked], watermark=14 * HOUR, clock=0)
    rows = [row for part in left if part["kind"] == FIRING for row in opened(part["payload"]).to_pylist()]
    assert [(row["window"]["start"].hour, row["n"]) for row in rows] == [(6, 2)]


@pytest.mark.slow
def test_on_spark_it_travels_with_the_pipeline(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run as a script, so that its class is known by no module that a worker could import."""
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), "--spark"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == TOLD
