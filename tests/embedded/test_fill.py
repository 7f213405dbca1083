"""`agg(…).fill(…)` in this process, as a user has it: a row also for windows in which nothing came."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

MIN = 60


def read(minute: int, value: Any, key: str = "x") -> dict[str, Any]:
    return {"ts": minute * MIN, "k": key, "v": value}


READINGS = [read(0, 3), read(3, 9), read(4, 8, "y")]
"""Of x the minutes 1 and 2 are missing. Of y nothing is: before its first window there is no gap."""


def minutes(came: list[dict[str, Any]] = READINGS, kind: fl.WindowKind | None = None, **options: Any) -> fl.Result:
    stream = fl.stream(came, time="ts", unit="s", delay="0 s", **options).key_by("k")
    return stream.window(kind or fl.tumbling("1 min")).agg(n=fl.count(), v=fl.max("v"))


def minute(row: dict[str, Any]) -> int:
    return int(row["window"]["start"].timestamp()) // MIN


def told(result: fl.RowResult[Any], column: str = "v") -> list[tuple[Any, ...]]:
    return [(row["k"], minute(row), row[column]) for row in result.table().to_pylist()]


class TestGaps:
    @pytest.mark.parametrize(
        ("how", "between"), [("null", (None, None)), ("last", (3, 3)), ("linear", (5.0, 7.0))], ids=str
    )
    def test_missing_windows_stand_between_those_of_their_key(self, how: Any, between: tuple[Any, Any]) -> None:
        first, second = between
        rows = [("x", 0, 3), ("x", 1, first), ("x", 2, second), ("x", 3, 9), ("y", 4, 8)]
        assert told(minutes().fill(how)) == rows

    def test_rows_are_like_those_of_the_windows(self) -> None:
        plain = minutes()
        assert plain.fill("last").table().schema == plain.table().schema
        line = plain.fill("linear").table().schema  # on a line between whole numbers lie fractions
        assert (line.field("n").type, line.field("v").type) == (pa.float64(), pa.float64())

    def test_they_leave_in_the_step_of_the_next_window_of_their_key(self) -> None:
        """Key y closes minutes all the while, and brings nothing to x; at minute 5 x does."""
        came = [read(0, 3), *(read(n, n, "y") for n in range(4)), read(5, 9), read(6, 0, "y")]
        steps = [[(row["k"], minute(row)) for row in batch.to_pylist()] for batch in minutes(came, rows=1).fill("last")]
        assert steps[:3] == [[("x", 0), ("y", 0)], [("y", 1)], [("y", 2)]]
        gaps = [("x", 1), ("x", 2), ("x", 3), ("x", 4), ("x", 5)]
        assert [row for row in steps[-2] + steps[-1] if row[0] == "x"] == gaps

    def test_hopping_windows_are_filled_at_every_start(self) -> None:
        hops = minutes([read(0, 1), read(5, 2)], fl.hopping("2 min", every="1 min")).fill("null")
        assert [(start, v) for _, start, v in told(hops)] == [
            *((-1, 1), (0, 1)),
            *((1, None), (2, None), (3, None)),
            *((4, 2), (5, 2)),
        ]

    def test_days_of_a_zone_are_filled_and_a_day_it_left_out_is_not(self) -> None:
        """Samoa went from 29 to 31 December 2011: from the 28th to the first of January there are two days."""
        came = [{"ts": datetime(2011, 12, day, 12, tzinfo=UTC), "v": day} for day in (28, 31)]
        days = fl.stream(came, time="ts").window(fl.calendar("day", zone="Pacific/Apia")).agg(v=fl.max("v"))
        rows = days.fill("linear").table().to_pylist()
        assert [row["v"] for row in rows] == [28.0, 29.0, 30.0, 31.0]

    def test_what_is_no_number_has_no_line(self) -> None:
        came = [{"ts": n * MIN, "k": "x", "word": word, "ok": True} for n, word in ((0, "a"), (2, "b"))]
        stream = fl.stream(came, time="ts", unit="s").window(fl.tumbling("1 min"))
        rows = stream.agg(word=fl.last("word"), ok=fl.any("ok")).fill("linear").table().to_pylist()
        assert [(row["word"], row["ok"]) for row in rows] == [("a", True), (None, None), ("b", True)]

    def test_decimals_keep_their_digits_and_are_rounded_once(self) -> None:
        """From 1.00 to 2.00 in three steps: 1.33, 1.67."""
        came = pa.table({"ts": [0, 3 * MIN], "v": pa.array([Decimal("1.00"), Decimal("2.00")])})
        stream = fl.stream(came, time="ts", unit="s").window(fl.tumbling("1 min"))
        values = stream.agg(v=fl.max("v")).fill("linear").table().column("v")
        assert values.to_pylist() == [Decimal(text) for text in ("1.00", "1.33", "1.67", "2.00")]

    def test_numbers_as_far_apart_as_can_be(self) -> None:
        came = [read(0, -1.7e308), read(2, 1.7e308)]
        assert told(minutes(came).fill("linear"))[1] == ("x", 1, 0.0)

    def test_a_null_at_one_end_leaves_nothing_to_draw_a_line_from(self) -> None:
        came = pa.table({"ts": [0, 2 * MIN], "k": ["x", "x"], "v": pa.array([None, 4.0])})
        stream = fl.stream(came, time="ts", unit="s").key_by("k").window(fl.tumbling("1 min")).agg(v=fl.max("v"))
        assert [v for _, _, v in told(stream.fill("linear"))] == [None, None, 4.0]
        assert [v for _, _, v in told(stream.fill("last"))] == [None, None, 4.0]


class TestLongest:
    def test_a_longer_gap_is_not_filled_and_the_key_starts_anew(self) -> None:
        """From the end of minute 0 to that of minute 3 it is three minutes."""
        assert len(minutes().fill("last", longest="3 min").table()) == 5
        assert len(minutes().fill("last", longest="179 s").table()) == 3

    def test_what_is_too_old_is_forgotten(self) -> None:
        """What is kept is what a snapshot has: with `longest` it does not grow with keys that come once."""

        def kept(keys: int, longest: str | None) -> int:
            operator = minutes().fill("last", longest=longest).operator()
            for n in range(keys):
                start, end = (datetime.fromtimestamp(MIN * bound, UTC) for bound in (n, n + 1))
                operator.add([{"k": f"k{n}", "n": 1, "v": n, "window_start": start, "window_end": end}])
                operator.advance(watermark=end)
            operator.take()
            return len(operator.snapshot())

        assert kept(60, "10 min") < 1.1 * kept(30, "10 min") < kept(60, None)

    def test_a_gap_of_more_than_100_000_windows_is_not_filled(self) -> None:
        far = minutes([read(0, 1), read(100_001, 2)]).fill("null")
        assert len(far.table()) == 100_002
        further = minutes([read(0, 1), read(100_002, 2)]).fill("null")
        assert len(further.table()) == 2

    def test_explain_says_how_long_a_window_is_kept(self) -> None:
        assert "the newest window of each key, for ever: say longest=…" in minutes().fill("last").explain()
        assert "the newest window of each key, until it is 1 d old" in minutes().fill("last", longest="1 day").explain()


class TestStages:
    def test_nothing_is_late_for_the_next_stage(self) -> None:
        """Key y drives the watermark; the missing windows of x are up to ten minutes old when they leave."""
        came = [read(0, 1), *(read(n, 1, "y") for n in range(9)), read(9, 1), read(30, 1, "y")]
        filled = minutes(came, rows=1).fill("last", longest="10 min")
        sums = filled.window(fl.tumbling("5 min")).agg(total=fl.sum("v"), n=fl.count())
        assert sums.table().column("n").to_pylist() == [10, 9, 1]
        assert not len(sums.dead_letters)

    def test_filled_windows_can_be_grouped_again(self) -> None:
        filled = minutes().fill("last", longest="1 h").rewindow().agg(shops=fl.count())
        assert filled.table().column("shops").to_pylist() == [1, 1, 1, 1, 1]

    def test_a_stage_before_may_be_grouped_again_too(self) -> None:
        totals = minutes().rewindow().agg(v=fl.sum("v")).fill("linear")
        assert totals.table().column("v").to_pylist() == [3.0, 5.0, 7.0, 9.0, 8.0]

    def test_the_first_rows_of_filled_windows(self) -> None:
        best = minutes([read(0, 3), read(3, 9), read(1, 8, "y")]).fill("last", longest="1 h").rewindow().top(1, by="v")
        assert best.table().column("v").to_pylist() == [3, 8, 3, 9]

    def test_windows_that_wait_for_corrections_are_final_too(self) -> None:
        stream = fl.stream(READINGS, time="ts", unit="s", delay="0 s", rows=9).key_by("k")
        waiting = stream.window(fl.tumbling("1 min"), lateness="1 h").trigger(fl.at_expiry())
        assert len(waiting.agg(v=fl.max("v")).fill("null").table()) == 5


class TestRefusals:
    @pytest.mark.parametrize(
        "kind", [fl.session("1 min"), fl.global_window(), fl.counting(2), fl.sliding("1 min")], ids=repr
    )
    def test_windows_that_do_not_follow_one_another(self, kind: fl.WindowKind) -> None:
        with pytest.raises(fl.SpecError, match=r"fill: \w+ windows do not follow one another.*Use tumbling, hopping"):
            minutes(kind=kind).fill("null")

    def test_windows_that_fire_more_than_once(self) -> None:
        late = fl.stream([], time="ts").window(fl.tumbling("1 min"), lateness="1 h").agg(n=fl.count())
        with pytest.raises(fl.SpecError, match=r"fill: the windows before it fire more than once.*at_expiry\(\)"):
            late.fill("null")

    def test_a_mistake_is_named(self) -> None:
        with pytest.raises(fl.SpecError, match="fill: 'zero' is not one of null, last, linear"):
            minutes().fill("zero")  # type: ignore[arg-type]
        with pytest.raises(fl.SpecError, match=r"fill: `longest` \(0 s\) must be above zero"):
            minutes().fill("null", longest="0 s")
        stamped = fl.stream([], time="ts").window(fl.tumbling("1 min")).stamped("latest").agg(n=fl.count())
        with pytest.raises(fl.SpecError, match=r"fill: results are stamped.*stamped\('end'\)"):
            stamped.fill("null")

    def test_windows_are_told_where_it_stands(self) -> None:
        with pytest.raises(AttributeError, match=r"say agg\(…\) first"):
            fl.stream([], time="ts").window(fl.tumbling("1 min")).fill  # type: ignore[attr-defined]  # noqa: B018
