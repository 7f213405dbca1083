"""`stream.recent()` in this process, as a user has it: rows leave as they come, and are taken back when old."""

from __future__ import annotations

from typing import Any

import pytest

import fanlight as fl


def seen(ts: int | None, page: str = "a") -> dict[str, Any]:
    return {"ts": ts, "page": page}


CLICKS = [seen(10), seen(5, "b"), seen(None), seen(25), seen(14, "c"), seen(13), seen(40), seen(31, "b")]
"""With a delay of 2 s, ten seconds and one record a bundle: 25 takes the watermark to 23, so that 10 and 5 are taken
back; then 14 is in time, if barely (14 + 10 >= 23), and so is 13. 40 takes the watermark to 38, past 25, 14 and 13.
"""


def clicks(**options: Any) -> fl.Stream:
    return fl.stream(CLICKS, time="ts", unit="s", delay="2 s", rows=1, **options)


def told(result: fl.RowResult[Any]) -> list[tuple[str, int]]:
    return [(row["op"], row["ts"]) for row in result.table().to_pylist()]


class TestResult:
    def test_rows_leave_as_they_come_and_are_taken_back_by_time(self) -> None:
        assert told(clicks().recent("10 s")) == [
            *[("+I", 10), ("+I", 5), ("+I", 25), ("-D", 5), ("-D", 10)],
            *[("+I", 14), ("+I", 13), ("+I", 40), ("-D", 13), ("-D", 14), ("-D", 25), ("+I", 31)],
        ]

    def test_the_columns_are_those_that_came_and_the_operation(self) -> None:
        result = clicks().recent("10 s").table()
        assert result.column_names == ["ts", "page", "op"]
        assert result.to_pylist()[0] == {"ts": 10, "page": "a", "op": "+I"}

    def test_what_is_further_behind_is_expired_and_all_adds_up(self) -> None:
        """With 9 seconds, 23 is more than that past 13."""
        result = clicks().recent("9 s")
        assert [(one["reason"], one["record"]["ts"]) for one in result.dead_letters.to_pylist()] == [
            ("null_time", None),
            ("expired", 13),
        ]
        assert (result.accounting.accepted, result.accounting.dead_letters) == (6, 2)
        assert result.accounting.adds_up

    def test_a_row_that_comes_and_is_passed_in_one_step_leaves_as_both(self) -> None:
        """All in one bundle: 1 is judged by the watermark before it, and 90 takes the watermark past it."""
        whole = fl.stream([seen(1), seen(90), seen(85)], time="ts", unit="s").recent("10 s")
        assert told(whole) == [("+I", 1), ("+I", 90), ("+I", 85), ("-D", 1)]

    def test_of_a_finite_input_the_net_rows_are_the_last_ones(self) -> None:
        left: list[int] = []
        for op, ts in told(clicks().recent("10 s")):
            left.append(ts) if op == "+I" else left.remove(ts)
        assert left == [40, 31]

    def test_what_where_leaves_out_never_shows(self) -> None:
        result = clicks().where(fl.col("page") == "b").recent("10 s")
        assert told(result) == [("+I", 5), ("-D", 5), ("+I", 31)]
        assert result.accounting.filtered == 6

    def test_it_says_what_it_does(self) -> None:
        said = clicks().recent("10 s").explain()
        assert "each row at once; takes a row back when the watermark is more than 10 s past it" in said
        assert "with `op` one of +I, -D" in said


class TestChanges:
    ORDERS = tuple(
        dict(zip(("ts", "did", "id", "price"), order, strict=True))
        for order in [
            (10, "c", 1, 3),
            (20, "c", 2, 5),
            (30, "u", 1, 4),  # the row of 10 is replaced
            (40, "d", 2, None),
            (95, "c", 3, 6),  # the watermark is a minute past 30
            (100, "u", 1, 9),  # which is gone: so this is the first of its id again
            (50, "d", 3, None),  # judged by its own time, it takes the row of 95
        ]
    )
    WORDS = ("c", "+I"), ("u", "+U"), ("d", "-D")

    def test_a_changelog_is_told_in_full_and_old_rows_are_taken_back(self) -> None:
        stream = fl.stream(
            list(self.ORDERS),
            time="ts",
            unit="s",
            rows=1,
            delay="0 s",
            op="did",
            unique="id",
            operations=dict(self.WORDS),
        )
        result = stream.recent("1 min")
        assert [(row["did"], row["ts"], row["id"], row["price"]) for row in result.table().to_pylist()] == [
            ("+I", 10, 1, 3),
            ("+I", 20, 2, 5),
            ("-U", 10, 1, 3),
            ("+U", 30, 1, 4),
            ("-D", 20, 2, 5),
            ("+I", 95, 3, 6),
            ("-D", 30, 1, 4),
            ("+I", 100, 1, 9),
            ("-D", 95, 3, 6),
        ]
        assert len(result.dead_letters) == 0
        assert result.spec.keys == ("id",)  # on Spark, in the shards of the stage that makes them consistent

    def test_results_of_windows_that_retract(self) -> None:
        """The count of the first ten seconds leaves at 10, is corrected by the second record of 3, and is old at 25."""
        came = [seen(1), seen(12), seen(3), seen(25)]
        windows = fl.stream(came, time="ts", unit="s", rows=1, delay="0 s").window(
            fl.tumbling("10 s"), lateness="1 min"
        )
        result = windows.retracting().agg(n=fl.count(), pages=fl.list("page")).recent("10 s")
        assert [(row["op"], row["n"]) for row in result.table().to_pylist()][:4] == [
            ("+I", 1),
            ("-U", 1),
            ("+U", 2),
            ("+I", 1),
        ]
        assert ("-D", 2) in [(row["op"], row["n"]) for row in result.table().to_pylist()]

    def test_without_unique_columns_rows_are_told_apart_by_all(self) -> None:
        came = [{**seen(1), "op": "+I"}, {**seen(1), "op": "+I"}, {**seen(1), "op": "-D"}, {**seen(2), "op": "-D"}]
        result = fl.stream(came, time="ts", unit="s", op="op").recent("10 s")
        assert told(result) == [("+I", 1), ("+I", 1), ("-D", 1)]
        assert result.dead_letters.column("reason").to_pylist() == ["no_such_row"]


class TestStages:
    def test_windows_take_in_what_is_taken_back(self) -> None:
        """At 23 the window of 0 to 20 closes, and the step that does it takes 5 and 10 back. 14 and 13 come late, and
        at 38 none of them is left.
        """
        counts = clicks().recent("10 s").window(fl.tumbling("20 s")).retracting().agg(n=fl.count())
        assert counts.spec.lateness == fl.Duration.of("10 s")
        rows = [(row["pane"]["op"], row["window"]["start"].second, row["n"]) for row in counts.table().to_pylist()]
        first = [(op, n) for op, start, n in rows if start == 0]
        assert first == [("+I", 1), ("-U", 1), ("+U", 2), ("-D", 2)]
        assert len(counts.own_dead_letters) == 0

    def test_shorter_after_longer_is_shorter(self) -> None:
        assert told(clicks().recent("1 min").recent("10 s")) == told(clicks().recent("10 s"))


class TestByHand:
    def test_records_in_by_hand_rows_out_and_a_snapshot_goes_on(self) -> None:
        operator = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).recent("10 s").operator()
        operator.add([seen(5), seen(8, "b")])
        assert operator.take().column("op").to_pylist() == ["+I", "+I"]
        other = fl.StandaloneOperator.restore(operator.spec, operator.snapshot())
        other.advance(watermark=15_000_000)
        assert len(other.take()) == 0
        other.advance(watermark=15_000_001)
        assert other.take().to_pylist() == [{**seen(5), "op": "-D"}]
        other.end()
        assert len(other.take()) == 0


class TestRefusals:
    @pytest.mark.parametrize(
        ("within", "said"),
        [
            ("forever", r"recent: the duration \(forever\) must be above zero and have an end.*such as '1 hour'"),
            ("0 s", r"recent: the duration \(0 s\)"),
            (7, "Duration: 7 is a int, which says no unit"),
        ],
    )
    def test_a_mistake_is_named(self, within: Any, said: str) -> None:
        with pytest.raises(fl.SpecError, match=said):
            clicks().recent(within)

    def test_a_column_called_op_gets_another_name_or_is_declared(self) -> None:
        came = [{"ts": 1, "op": "+I"}]
        with pytest.raises(fl.InputError, match=r"recent: the records have a column 'op'.*select\(…, kind='op'\)"):
            fl.stream(came, time="ts", unit="s").recent("1 s").table()
        renamed = fl.stream(came, time="ts", unit="s").select("ts", kind="op").recent("1 s")
        assert renamed.table().to_pylist() == [{"ts": 1, "kind": "+I", "op": "+I"}]
        assert told(fl.stream(came, time="ts", unit="s", op="op").recent("1 s")) == [("+I", 1)]

    def test_windows_are_told_where_it_stands(self) -> None:
        with pytest.raises(AttributeError, match=r"say recent\(…\) in the place of window\(…\) and agg\(…\)"):
            clicks().window(fl.tumbling("1 s")).recent  # type: ignore[attr-defined]  # noqa: B018
