"""A rehearsal tells what a pipeline does, step by step, and what differs from what was expected."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

import fanlight as fl
from fanlight.testing import Rehearsal, rehearse

DAY = date(2026, 3, 1)


def at(second: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, 1, 12, minute, second, tzinfo=UTC)


def counts(**options: Any) -> fl.Result:
    stream = fl.stream([], time="ts", delay="5 s", **options).key_by("k")
    return stream.window(fl.tumbling("1 minute"), lateness="1 minute").agg(n=fl.count())


def begun(pipeline: Any = None) -> Rehearsal:
    return rehearse(counts() if pipeline is None else pipeline, day=DAY)


class TestWhatIsPlayed:
    def test_times_are_datetimes_or_times_of_day(self) -> None:
        for first, close in ((at(10), at(0, 1)), ("12:00:10", "12:01"), ("2026-03-01T12:00:10Z", "2026-03-01T12:01Z")):
            begun().send({"ts": first, "k": "a"}).watermark(close).expect({"window_start": at(0), "n": 1})

    def test_records_of_one_call_are_one_bundle(self) -> None:
        together, apart = begun(), begun()
        together.send({"ts": "12:05", "k": "a"}, {"ts": "12:00", "k": "a"}).expect_dead_letters()
        apart.send({"ts": "12:05", "k": "a"}).send({"ts": "12:00", "k": "a"}).expect_dead_letters({"reason": "expired"})

    def test_the_clock_fires(self) -> None:
        early = fl.stream([], time="ts").window(fl.tumbling("1 h")).trigger(fl.at_watermark(early=fl.every("10 s")))
        run = begun(early.agg(n=fl.count())).at("12:00:03").send({"ts": "12:00:01"}).expect()
        run.at("12:00:10").expect({"n": 1, "pane_timing": "EARLY", "pane_clock": "12:00:10"})

    def test_the_signal_fires(self) -> None:
        told = fl.stream([], time="ts").window(fl.tumbling("1 h")).trigger(fl.repeat(fl.on_signal()))
        begun(told.agg(n=fl.count())).send({"ts": "12:00"}).expect().signal().expect({"n": 1})

    def test_conditions_and_columns_are_applied_first(self) -> None:
        stream = fl.stream([], time="ts").where(fl.col("v") > 1).select("ts", w=fl.col("v") * 2)
        begun(stream.sort()).send({"ts": "12:00", "v": 1}, {"ts": "12:00", "v": 4}).end().expect({"w": 8})

    def test_several_inputs_are_told_apart(self) -> None:
        both = fl.union(web=fl.stream([], time="ts"), shop=fl.stream([], time="ts"))
        run = begun(both.window(fl.tumbling("1 min")).agg(n=fl.count()))
        run.send({"ts": "12:02"}, to="web").expect()
        run.send({"ts": "12:00"}, to="shop").expect().watermark("12:01", to="shop").expect({"n": 1})

    def test_stages_are_played_as_one(self) -> None:
        """The first minute leaves the first stage at 12:01, and the second at 12:02, when its own window has ended."""
        each = fl.stream([], time="ts").key_by("k").window(fl.tumbling("1 min")).agg(n=fl.count())
        run = begun(each.window(fl.tumbling("2 min")).agg(most=fl.max("n")))
        run.send({"ts": "12:00:01", "k": "a"}, {"ts": "12:00:02", "k": "a"}).watermark("12:01").expect()
        run.send({"ts": "12:01:30", "k": "b"}).watermark("12:02").expect({"window_end": "12:02", "most": 2})
        run.end().expect()

    def test_the_end_of_stages_leaves_nothing(self) -> None:
        each = fl.stream([], time="ts").key_by("k").window(fl.tumbling("1 min")).agg(n=fl.count())
        begun(each.sort()).send({"ts": "12:00:01", "k": "a"}).end().expect({"k": "a", "n": 1})

    @pytest.mark.parametrize("restarts", [False, True])
    def test_a_restart_changes_nothing(self, restarts: bool) -> None:
        run = begun()
        for second in (10, 20, 70, 30):
            run.send({"ts": at(second % 60, second // 60), "k": "a"})
            if restarts:
                run.restart()
        run.end().expect({"n": 2}, {"n": 3}, {"n": 1})


class TestWhatIsTold:
    def test_rows_are_forgotten_once_they_were_expected(self) -> None:
        run = begun().send({"ts": "12:00", "k": "a"}).end()
        assert [row["n"] for row in run.rows] == [1]
        assert run.expect({"n": 1}).rows == []
        assert run.accounting.accepted == 1

    def test_each_difference_has_its_line(self) -> None:
        run = begun().send({"ts": "12:00", "k": "a"}, {"ts": "12:00", "k": "b"}).end()
        with pytest.raises(AssertionError) as told:
            run.expect({"k": "a", "n": 1}, {"k": "b", "n": 5}, {"k": "c", "n": 1})
        assert str(told.value).splitlines() == [
            "rows: expected 3, came 2",
            "    k='a'  n=1",
            "  - k='b'  n=5",
            "  + k='b'  n=1",
            "  - k='c'  n=1",
        ]

    def test_what_was_not_expected_is_shown_with_its_window(self) -> None:
        with pytest.raises(
            AssertionError, match=r"\+ k='a'  window_start=2026-03-01 12:00  window_end=2026-03-01 12:01"
        ):
            begun().send({"ts": "12:00:07", "k": "a"}).end().expect()

    def test_a_column_that_is_not_there_is_named(self) -> None:
        with pytest.raises(AssertionError, match="no such column: start; there are k, window_start, window_end, n"):
            begun().send({"ts": "12:00:07", "k": "a"}).end().expect({"start": "12:00"})

    def test_an_approximation_may_be_expected(self) -> None:
        mean = fl.stream([], time="ts").window(fl.tumbling("1 min")).agg(mean=fl.avg("v"))
        run = begun(mean).send({"ts": "12:00", "v": 0.1}, {"ts": "12:00", "v": 0.2})
        run.end().expect({"mean": pytest.approx(0.15)})

    def test_results_of_several_stages_at_once_are_refused(self) -> None:
        each = fl.stream([], time="ts").window(fl.tumbling("1 min")).agg(n=fl.count())
        with pytest.raises(fl.SpecError, match="a stage reads several results"):
            begun(fl.union(a=each, b=each).sort())
