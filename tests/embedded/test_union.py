"""Several inputs as one stream: whose watermark counts, who brought what, and which inputs do not fit together."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Arrival, Said

S = 1_000_000


def at(*seconds: int, n: int = 1) -> list[dict[str, Any]]:
    return [{"ts": second, "n": n} for second in seconds]


def stream(records: Any = (), **options: Any) -> fl.Stream:
    """A bundle a record."""
    in_order = {} if "watermark" in options else {"delay": "0 s"}
    return fl.stream(records, time="ts", unit="s", **{"rows": 1, **in_order, **options})


def minutes(union: fl.Stream) -> fl.Result:
    return union.window(fl.tumbling("1 minute")).agg(n=fl.sum("n"))


def totals(result: fl.Result) -> list[int]:
    values: list[int] = result.table().column("n").to_pylist()
    return values


def letters(result: Any) -> list[tuple[str, int, str]]:
    told = result.dead_letters.to_pylist()
    return [(one["reason"], one["record"]["ts"], one["record"]["input"]) for one in told]


class TestTheWatermark:
    def test_the_least_counts_and_nothing_moves_before_all_have_spoken(self) -> None:
        operator = minutes(fl.union(web=stream(), shop=stream())).operator()
        operator.add(at(100), source="web")
        assert operator.watermark < 0
        operator.add(at(30), source="shop")
        assert operator.watermark == 30 * S
        operator.add(at(70), source="shop")
        assert operator.watermark == 70 * S
        operator.add(at(300), source="shop")
        assert operator.watermark == 100 * S
        assert operator.take().column("n").to_pylist() == [1]

    def test_the_greatest_counts_if_it_is_asked_for(self) -> None:
        operator = minutes(fl.union(combine="greatest", web=stream(), shop=stream())).operator()
        operator.add(at(100), source="web")
        assert operator.watermark == 100 * S
        operator.add(at(30), source="shop")
        assert operator.take_dead_letters().column("reason").to_pylist() == ["expired"]

    def test_each_input_has_a_strategy_of_its_own(self) -> None:
        union = fl.union(web=stream(delay="20 s"), shop=stream(watermark=fl.Explicit()))
        operator = minutes(union).operator()
        operator.add(at(100), source="web")
        operator.advance(watermark=90 * S, source="shop")
        assert operator.watermark == 80 * S
        operator.add(at(200), source="web")
        assert operator.watermark == 90 * S

    def test_an_idle_input_is_left_out_until_it_speaks_again(self) -> None:
        operator = minutes(fl.union(idle="30 s", web=stream(), shop=stream())).operator()
        operator.add(at(1), source="web", clock=0)
        operator.add(at(1), source="shop", clock=0)
        operator.add(at(100), source="web", clock=20 * S)
        assert operator.watermark == 1 * S
        operator.add(at(120), source="web", clock=31 * S)
        assert operator.watermark == 120 * S
        operator.add(at(50, 130), source="shop", clock=32 * S)
        assert [one["reason"] for one in operator.take_dead_letters().to_pylist()] == ["expired"]
        operator.add(at(400), source="web", clock=33 * S)
        assert operator.watermark == 130 * S, "it holds the others back again"

    def test_where_all_are_idle_the_greatest_counts(self) -> None:
        operator = minutes(fl.union(idle="30 s", web=stream(), shop=stream())).operator()
        operator.add(at(10), source="web", clock=0)
        operator.add(at(100), source="shop", clock=0)
        operator.advance(clock=1_000 * S)
        assert operator.watermark == 100 * S

    def test_an_input_that_has_ended_holds_the_others_back_no_longer(self) -> None:
        """The shop ends in the second step: then the web alone says the watermark, and 2 and 3 come too late."""
        web = stream(at(1, 70, 2, 130, 3, 131))
        result = minutes(fl.union(web=web, shop=stream(at(5))))
        assert totals(result) == [2, 1, 2]
        assert letters(result) == [("expired", 2, "web"), ("expired", 3, "web")]

    def test_one_that_has_ended_says_nothing_for_one_that_is_idle(self) -> None:
        """The end of the shop is no watermark of the web, which is only silent: 70 is in time."""
        operator = minutes(fl.union(idle="30 s", web=stream(), shop=stream())).operator()
        operator.add(at(1), source="web", clock=0)
        operator.advance(source="shop", watermark=END_OF_TIME, clock=100 * S)
        assert operator.watermark == 1 * S
        operator.add(at(70), source="web", clock=101 * S)
        operator.advance(source="web", watermark=END_OF_TIME)
        assert operator.watermark == END_OF_TIME
        assert operator.take().column("n").to_pylist() == [1, 1]

    def test_with_the_greatest_an_end_releases_nothing(self) -> None:
        result = minutes(fl.union(combine="greatest", web=stream(at(1, 2, 3)), shop=stream(at(5))))
        assert totals(result) == [4]
        assert letters(result) == []

    def test_inputs_that_bring_nothing_at_all(self) -> None:
        assert totals(minutes(fl.union(web=stream(at(1, 100)), shop=stream([])))) == [1, 1]
        assert len(minutes(fl.union(web=stream([]), shop=stream([]))).table()) == 0


class TestSteps:
    def test_a_step_has_one_bundle_of_each_in_the_order_they_are_named(self) -> None:
        """Rows of one time leave as they came."""
        web = stream([{"ts": 1, "n": n} for n in (1, 2, 3)], rows=2)
        shop = stream([{"ts": 1, "n": n} for n in (10, 20)], rows=1)
        for union, numbers in (
            (fl.union(web=web, shop=shop), [1, 2, 10, 3, 20]),
            (fl.union(shop=shop, web=web), [10, 1, 2, 20, 3]),
        ):
            ordered = union.sort().table()
            assert ordered.column("n").to_pylist() == numbers
            assert set(ordered.column("input").to_pylist()) == {"web", "shop"}

    def test_all_are_judged_by_the_watermark_before_the_step(self) -> None:
        """In the second step the shop brings 2 beside the web's 200: both were judged when 1 had been reached."""
        result = minutes(fl.union(combine="greatest", web=stream(at(1, 200, 201)), shop=stream(at(1, 2, 4))))
        assert totals(result) == [3, 2]
        assert letters(result) == [("expired", 4, "shop")]

    def test_several_bundles_can_be_given_as_one_step_by_hand(self) -> None:
        operator = minutes(fl.union(web=stream(), shop=stream())).operator()

        def brought(name: str, second: int) -> Arrival:
            return Arrival(CheckedBatch(pa.RecordBatch.from_pylist(at(second))), Said(name))

        operator.add_all([brought("web", 1), brought("shop", 2)])
        operator.add_all([brought("web", 61), brought("shop", 3)])
        assert operator.watermark == 3 * S
        operator.add_all([brought("web", 62), brought("shop", 200)])
        assert operator.take().column("n").to_pylist() == [3]

    def test_all_that_a_step_brings_comes_at_one_clock(self) -> None:
        """So an input is not idle in a step in which it speaks, though another says a later clock."""
        operator = minutes(fl.union(idle="30 s", web=stream(), shop=stream())).operator()
        web, shop = (CheckedBatch(pa.RecordBatch.from_pylist(at(second))) for second in (10, 100))
        operator.add_all([Arrival(web, Said("web", clock=0)), Arrival(shop, Said("shop", clock=40 * S))])
        assert operator.watermark == 10 * S

    def test_an_input_may_give_a_type_to_a_column_that_had_none_in_another(self) -> None:
        """What was counted of the first input in the same step stays counted."""
        untyped = [{"ts": 1, "n": 1, "note": None}, {"ts": None, "n": 1, "note": None}]
        typed = [{"ts": 2, "n": 1, "note": "x"}]
        result = minutes(fl.union(web=stream(untyped, rows=2), shop=stream(typed)))
        assert totals(result) == [2]
        assert result.dead_letters.column("reason").to_pylist() == ["null_time"]
        counted = result.accounting_by_input
        assert (counted["web"].received, counted["web"].dead_letters, counted["shop"].accepted) == (2, 1, 1)
        assert result.accounting.adds_up

    def test_rows_leave_while_the_inputs_are_read(self) -> None:
        def forever(step: int) -> Any:
            second = 0
            while True:
                yield {"ts": second, "n": 1}
                second += step

        firings = (
            n for batch in minutes(fl.union(web=stream(forever(30)), shop=stream(forever(60)))) for n in batch["n"]
        )
        assert [next(firings).as_py() for _ in range(3)] == [3, 3, 3]


class TestAccounting:
    def test_each_input_adds_up_by_itself(self) -> None:
        web = stream([*at(1, 100), {"ts": None, "n": 1}, *at(2, 300)])
        shop = stream([{"ts": 1, "n": -1}, *at(100), *at(101), *at(301)]).where(fl.col("n") > 0)
        result = minutes(fl.union(web=web, shop=shop))
        assert letters(result) == [("null_time", None, "web"), ("expired", 2, "web")]
        own = result.accounting_by_input
        assert (own["web"].received, own["web"].accepted, own["web"].dead_letters) == (5, 3, 2)
        assert (own["shop"].received, own["shop"].accepted, own["shop"].filtered) == (4, 3, 1)
        assert all(one.adds_up for one in own.values())
        for count in ("received", "accepted", "dead_letters", "filtered", "duplicates", "dropped"):
            together = sum(getattr(one, count) for one in own.values())
            assert together == getattr(result.accounting, count), count

    def test_duplicates_and_what_a_hook_drops_are_counted_by_input_too(self) -> None:
        operator = minutes(fl.union(web=stream(), shop=stream())).operator(before_process=lambda batch: batch.slice(1))
        for name in ("web", "shop"):
            operator.add(at(1, 2, 3), source=name, offset=0)
        operator.add(at(3, 4), source="web", offset=2)
        own = operator.accounting_by_input
        assert (own["web"].received, own["web"].duplicates, own["web"].dropped, own["web"].accepted) == (5, 1, 2, 2)
        assert (own["shop"].received, own["shop"].duplicates, own["shop"].dropped) == (3, 0, 1)
        assert operator.accounting.adds_up
        assert all(one.adds_up for one in own.values())

    def test_malformed_records_say_their_input(self) -> None:
        shop = stream([*at(3), {"ts": 2, "n": "many"}])
        result = minutes(fl.union(web=stream(at(1)), shop=shop))
        with pytest.warns(fl.FanlightWarning, match="'many'"):
            told = letters(result)
        assert told == [("malformed", 2, "shop")]
        assert result.accounting_by_input["shop"].dead_letters == 1
        assert totals(result) == [2]

    def test_an_input_with_another_type_is_all_letters(self) -> None:
        """Text to begin with, where numbers are summed: then a number is no text, and text is no number."""
        shop = stream([{"ts": 2, "n": "many"}, *at(3), {"ts": 4, "n": "few"}])
        result = minutes(fl.union(web=stream(at(1, 2, 3)), shop=shop))
        with pytest.warns(fl.FanlightWarning, match="was expected"):
            told = letters(result)
        assert told == [("malformed", second, "shop") for second in (2, 3, 4)]
        assert totals(result) == [3]
        assert result.accounting_by_input["shop"].adds_up

    def test_an_input_that_is_strict_stops_at_what_does_not_fit(self) -> None:
        shop = stream([{"ts": 2, "n": "many"}], strict=True)
        with pytest.raises(fl.InputError, match="Column 'n' is string here and was int64 before"):
            minutes(fl.union(web=stream(at(1)), shop=shop)).table()


class TestStages:
    def test_results_and_sources_in_one_union(self) -> None:
        """Sums of ten seconds of the web, each at the last instant of its window, beside sums that came as such."""
        tens = stream(at(1, 2, 11, 61)).window(fl.tumbling("10 s")).agg(n=fl.sum("n"))
        moments = pa.array([5 * S, 70 * S], pa.timestamp("us", "UTC"))
        ready = fl.stream(pa.table({"window_time": moments, "n": [100, 200]}), time="window_time", ahead=None)
        sums = tens.select("window_time", "n")
        result = minutes(fl.union(web=sums, ready=ready))
        assert totals(result) == [103, 201]
        assert [stage.accounting.received for stage in result.stages] == [4, 5]
        assert {name: one.received for name, one in result.accounting_by_input.items()} == {"web": 3, "ready": 2}

    def test_two_results_in_one_union(self) -> None:
        def tens(records: Any) -> fl.Result:
            return stream(records).window(fl.tumbling("10 s")).agg(n=fl.sum("n"))

        both = fl.union(web=tens(at(1, 2, 61)), shop=tens(at(5, 15, 65, n=10))).key_by("input")
        result = both.window(fl.tumbling("1 minute")).agg(n=fl.sum("n"))
        rows = [(row["input"], row["n"]) for row in result.table().to_pylist()]
        assert rows == [("shop", 20), ("web", 2), ("shop", 10), ("web", 1)]

    def test_one_result_twice_in_one_union(self) -> None:
        tens = stream(at(1, 2, 61)).window(fl.tumbling("10 s")).agg(n=fl.sum("n"))
        result = minutes(fl.union(all=tens, many=tens.where(fl.col("n") > 1)))
        assert totals(result) == [4, 1]
        assert result.accounting_by_input["many"].filtered == 1

    def test_a_union_is_followed_by_any_stage(self) -> None:
        union = fl.union(web=stream(at(1, 70)), shop=stream(at(2, 71, 130)))
        result = union.sort().key_by("input").window(fl.tumbling("2 minutes")).agg(n=fl.count())
        rows = [(row["input"], row["n"]) for row in result.table().to_pylist()]
        assert rows == [("shop", 2), ("web", 2), ("shop", 1)]

    def test_a_late_correction_goes_through_a_union(self) -> None:
        """The lateness of what follows is that of the inputs."""
        tens = stream(at(1, 100, 2), delay="0 s").window(fl.tumbling("10 s"), lateness="10 minutes").discarding()
        union = fl.union(web=tens.agg(n=fl.sum("n")), shop=stream(at(1)).window(fl.tumbling("10 s")).agg(n=fl.sum("n")))
        result = union.window(fl.tumbling("1 minute")).discarding().agg(n=fl.sum("n"))
        assert result.spec.lateness == fl.Duration.of("10 minutes")
        assert sum(totals(result)) == 4
        assert letters(result) == []


class TestSnapshots:
    def test_a_snapshot_anywhere_changes_nothing(self) -> None:
        script = [("web", 1), ("shop", 3), ("web", 70), ("shop", 61), ("web", 2), ("web", 200), ("shop", 190)]
        result = minutes(fl.union(web=stream(), shop=stream().where(fl.col("n") > 0)))
        outcomes = []
        for cut in (None, *range(1, len(script))):
            operator: fl.WindowOperator = result.operator()
            for place, (name, second) in enumerate(script):
                if place == cut:
                    data = operator.snapshot()
                    intakes = result.embedded_run().intakes
                    operator = fl.WindowOperator.restore(result.spec, data, intakes=intakes)
                operator.add(at(second), source=name)
            operator.end()
            rows = operator.results().to_pylist()
            outcomes.append((rows, operator.dead_letters.to_pylist(), operator.accounting_by_input))
        assert all(outcome == outcomes[0] for outcome in outcomes)
        assert [row["n"] for row in outcomes[0][0]] == [2, 2, 2]
        assert [one["record"]["input"] for one in outcomes[0][1]] == ["web"]

    def test_inputs_of_other_names_cannot_go_on_from_it(self) -> None:
        operator = minutes(fl.union(web=stream(), shop=stream())).operator()
        operator.add(at(1), source="web")
        other = minutes(fl.union(web=stream(), mail=stream()))
        with pytest.raises(fl.StateError):
            fl.WindowOperator.restore(other.spec, operator.snapshot(), intakes=other.embedded_run().intakes)


class TestRefused:
    def test_one_stream_alone(self) -> None:
        with pytest.raises(fl.SpecError, match=r"union: needs at least two streams, each with a name"):
            fl.union(web=stream())

    def test_a_union_in_a_union(self) -> None:
        with pytest.raises(fl.SpecError, match=r"'both' is a union already. Name its streams here"):
            fl.union(both=fl.union(web=stream(), shop=stream()), mail=stream())

    def test_keys_before_the_union(self) -> None:
        with pytest.raises(fl.SpecError, match=r"'shop' has keys, .* Say key_by\(…\) after union"):
            fl.union(web=stream(), shop=stream().key_by("n"))

    def test_what_is_no_stream(self) -> None:
        with pytest.raises(fl.SpecError, match=r"shop=list is no stream. Make one of it"):
            fl.union(web=stream(), shop=at(1))  # type: ignore[arg-type]
        with pytest.raises(fl.SpecError, match="`combine` \\('most'\\) must be 'least' or 'greatest'"):
            fl.union(combine="most", web=stream(), shop=stream())  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("other", "told"),
        [
            ({"time": "at"}, r"`time` is 'ts' in 'web' and 'at' in 'shop'.*select\(…, ts='at'\)"),
            ({"unit": "ms"}, r"`unit` is .* Give both the same"),
            ({"tick": "1 s"}, r"`tick` is .* Give both the same"),
            ({"ahead": None}, r"`ahead` is .* Give both the same"),
            ({"op": "op"}, r"`changes` is .* Let both have changes, or neither"),
        ],
        ids=["time", "unit", "tick", "ahead", "changes"],
    )
    def test_streams_that_differ(self, other: dict[str, Any], told: str) -> None:
        with pytest.raises(fl.SpecError, match=told):
            fl.union(web=stream(), shop=fl.stream([], **{"time": "ts", "unit": "s", **other}))

    def test_several_inputs_in_one_of_them(self) -> None:
        strategy = fl.several({"a": fl.Explicit(), "b": fl.Explicit()})
        with pytest.raises(fl.SpecError, match="the watermark of 'shop' has several inputs itself"):
            fl.union(web=stream(), shop=stream(watermark=strategy))

    def test_an_input_without_a_column_that_is_read(self) -> None:
        result = minutes(fl.union(web=stream(at(1)), shop=stream([{"ts": 1, "pieces": 2}])))
        told = "Column 'n' is not in the input, which has ts, pieces, input"
        with (
            pytest.warns(fl.FanlightWarning, match="'pieces' is not a column"),
            pytest.raises(fl.InputError, match=told),
        ):
            result.table()

    def test_a_column_that_is_called_input(self) -> None:
        result = minutes(fl.union(web=stream([{"ts": 1, "n": 1, "input": "x"}]), shop=stream(at(1))))
        with pytest.raises(fl.SpecError, match="an input has a column 'input' already"):
            result.table()

    def test_a_source_that_is_read_once_as_two_inputs(self) -> None:
        once = stream(iter(at(1, 2, 3)))
        with pytest.raises(fl.InputError, match="can be read once, and has been"):
            minutes(fl.union(all=once, some=once.where(fl.col("n") > 1))).table()

    def test_a_bundle_of_an_input_that_was_not_named(self) -> None:
        operator = minutes(fl.union(web=stream(), shop=stream())).operator()
        with pytest.raises(fl.EngineError, match="'mail'"):
            operator.add(at(1), source="mail")
        with pytest.raises(fl.EngineError, match="`source` is missing"):
            operator.add(at(1))

    def test_a_shop_that_sorts_its_changes_can_join_rows(self) -> None:
        """As the refusal of mixed changes says."""
        changes = [{"ts": 1, "n": 1, "op": "+I"}, {"ts": 1, "n": 1, "op": "-D"}, {"ts": 2, "n": 7, "op": "+I"}]
        left = fl.stream(changes, time="ts", unit="s", op="op", ahead=None).sort()
        assert totals(minutes(fl.union(shop=left, web=stream(at(1), ahead=None)))) == [8]
