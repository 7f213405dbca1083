"""Operators wired by the names of their streams: they give what the chained pipeline gives, and step as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

from .interrupting import CtrlC, lines

S = 1_000_000
SHOPS = "abbcbcaabc"
ORDERS = [{"ts": 7 * n % 61 + n, "shop": SHOPS[n % len(SHOPS)], "v": n % 5} for n in range(60)]
"""Sixty orders of three shops, out of order by less than a minute and a bit."""


def orders(records: Sequence[Any] = (), **said: Any) -> fl.Stream:
    return fl.stream(list(records), time="ts", unit="s", **{"delay": "20 s", **said}).key_by("shop")


def counted(stream: fl.Stream) -> fl.Result:
    return stream.window(fl.tumbling("10 s")).agg(n=fl.count(), total=fl.sum("v"))


def best_of(counts: fl.Result) -> fl.Result:
    return counts.window(fl.tumbling("30 s")).agg(most=fl.max("n"), rows=fl.count())


def corrected(stream: fl.Stream) -> fl.Result:
    windows = stream.window(fl.tumbling("10 s"), lateness="30 s").retracting()
    return windows.trigger(fl.at_watermark(early=fl.after(2))).agg(n=fl.count())


CHAINS: dict[str, list[Callable[[Any], fl.RowResult[Any]]]] = {
    "windows over windows": [counted, best_of],
    "three": [counted, best_of, lambda best: best.window(fl.tumbling("1 min")).agg(all=fl.sum("rows"))],
    "windows, sorted, windows": [
        counted,
        lambda counts: counts.sort("shop"),
        lambda rows: rows.key_by("shop").window(fl.session("25 s")).agg(n=fl.sum("n")),
    ],
    "regrouped": [counted, lambda counts: counts.rewindow().agg(best=fl.top("row", 2, by="n"))],
    "changes": [corrected, lambda counts: counts.window(fl.tumbling("30 s")).agg(all=fl.sum("n"), rows=fl.count())],
}


def declared(chain: str, records: Sequence[Any] = (), **said: Any) -> list[fl.RowResult[Any]]:
    """The stages of a chain."""
    stages: list[Any] = [orders(records, **said)]
    for stage in CHAINS[chain]:
        stages.append(stage(stages[-1]))
    return stages[1:]


def wired(chain: str, **last: Any) -> fl.CompositeOperator:
    """A composite of the same stages: the stream `s0` comes from outside, and the last one is called `end`."""
    whole, stages = fl.CompositeOperator(sources="s0"), declared(chain)
    for number, stage in enumerate(stages, 1):
        is_last = number == len(stages)
        operator = stage.operator(**(last if is_last else {}))
        whole.add_operator(operator, inputs=f"s{number - 1}", output="end" if is_last else f"s{number}")
    return whole


def shown(table: pa.Table) -> list[dict[str, Any]]:
    rows = table.drop_columns([name for name in ("pane",) if name in table.column_names])
    return rows.to_pylist()  # type: ignore[no-any-return]


def in_bundles(size: int) -> list[list[dict[str, Any]]]:
    return [ORDERS[start : start + size] for start in range(0, len(ORDERS), size)]


def fed(whole: fl.CompositeOperator, size: int = 7) -> list[dict[str, Any]]:
    for number, bundle in enumerate(in_bundles(size)):
        whole.add(bundle, offset=number * size)
    whole.end()
    return shown(whole.take("end"))


class TestWhatItGives:
    @pytest.mark.parametrize("size", [1, 7, 25, 60])
    @pytest.mark.parametrize("chain", CHAINS)
    def test_is_what_the_chained_pipeline_gives(self, chain: str, size: int) -> None:
        stages = declared(chain, ORDERS, rows=size)
        whole = wired(chain)
        assert fed(whole, size) == shown(stages[-1].table()) != []
        accounts = list(whole.accounting.values())
        assert accounts == [stage.accounting for stage in stages[-1].stages]
        assert all(counts.adds_up for counts in accounts)
        letters = [len(table) for table in whole.dead_letters.values()]
        assert letters == [counts.dead_letters for counts in accounts]

    def test_operators_may_be_added_in_any_order(self) -> None:
        counts, best = declared("windows over windows")
        whole = fl.CompositeOperator()
        whole.add_operator(best.operator(), inputs="counts", output="end")
        whole.add_operator(counts.operator(), inputs="orders", output="counts")
        assert fed(whole) == fed(wired("windows over windows"))

    def test_one_stream_may_go_to_two_operators_and_to_the_caller(self) -> None:
        """Each gets all of it, and what is kept is what the first operator gives by itself."""
        counts, best = declared("windows over windows")
        whole = fl.CompositeOperator()
        whole.add_operator(counts.operator(), inputs="orders", output="counts", keep=True)
        whole.add_operator(best.operator(), inputs="counts", output="end")
        whole.add_operator(counts.sort("shop").operator(), inputs="counts", output="sorted")
        assert fed(whole) == fed(wired("windows over windows"))
        alone, sorted_ = counted(orders(ORDERS, rows=7)), counted(orders(ORDERS, rows=7)).sort("shop")
        assert shown(whole.take("counts")) == shown(alone.table())
        assert whole.take("sorted").to_pylist() == sorted_.table().to_pylist()

    def test_a_stream_from_outside_may_go_to_two_operators(self) -> None:
        """Also if it can be read only once."""
        counts, _ = declared("windows over windows")
        whole = fl.CompositeOperator()
        whole.add_operator(counts.operator(), inputs="orders", output="counts")
        whole.add_operator(orders().sort().operator(), inputs="orders", output="sorted")
        whole.add(iter(ORDERS))
        whole.end()
        assert {name: books.received for name, books in whole.accounting.items()} == {"counts": 60, "sorted": 60}
        assert len(whole.take("sorted")) == 60 - whole.accounting["sorted"].dead_letters

    def test_two_streams_from_outside_have_a_watermark_each(self) -> None:
        """The least of them counts: nothing leaves while one is silent."""
        both = fl.several({"left": fl.Explicit(), "right": fl.Explicit()})
        counts = counted(orders(watermark=both, delay=None))
        whole = fl.CompositeOperator(sources=["left", "right"])
        whole.add_operator(counts.operator(), inputs=["left", "right"], output="counts")
        whole.add_operator(counts.sort().operator(), inputs="counts", output="end")
        whole.add([{"ts": 1, "shop": "a", "v": 1}], source="left", offset=5, watermark=30 * S)
        whole.add([{"ts": 2, "shop": "a", "v": 1}], source="right", offset=5, watermark=5 * S)
        assert len(whole.take()) == 0
        whole.add([{"ts": 1, "shop": "a", "v": 1}], source="left", offset=5)  # a duplicate, of its own source
        whole.advance(source="right", watermark=10 * S)
        assert whole.take().column("n").to_pylist() == [2]
        assert whole.accounting["counts"] == fl.Accounting(received=3, accepted=2, duplicates=1)
        whole.advance(watermark=50 * S)  # of both
        assert whole.watermarks == {"counts": 50 * S, "end": 50 * S}

    def test_two_operators_may_meet_in_one(self) -> None:
        """Short windows and long ones, and the rows of both counted: each row once, with one watermark."""
        counts = counted(orders())
        longer = orders().window(fl.tumbling("20 s")).agg(n=fl.count(), total=fl.sum("v"))
        both = fl.several({"short": fl.Explicit(), "long": fl.Explicit()})
        meeting = fl.stream([], time="window_time", watermark=both).window(fl.tumbling("1 min")).agg(rows=fl.count())
        whole = fl.CompositeOperator()
        whole.add_operator(counts.operator(), inputs="orders", output="short", keep=True)
        whole.add_operator(longer.operator(), inputs="orders", output="long", keep=True)
        whole.add_operator(meeting.operator(), inputs=("short", "long"), output="end")
        rows = sum(row["rows"] for row in fed(whole))
        assert rows == len(whole.take("short")) + len(whole.take("long")) > 20
        assert whole.accounting["end"].dead_letters == 0

    def test_before_send_is_seen_by_who_follows(self) -> None:
        counts, best = declared("windows over windows")
        whole = fl.CompositeOperator()
        few = counts.operator(before_send=lambda rows: rows.slice(0, 1))
        whole.add_operator(few, inputs="orders", output="counts")
        whole.add_operator(best.operator(), inputs="counts", output="end")
        whole.add([{"ts": 1, "shop": shop, "v": 1} for shop in "aabb"])
        whole.end()
        assert whole.take().column("rows").to_pylist() == [1]  # of two

    def test_the_clock_is_one_for_all_and_the_signal_goes_all_the_way(self) -> None:
        told = fl.stream([], time="ts", unit="s", watermark=fl.Explicit())
        counts = told.window(fl.tumbling("10 s")).trigger(fl.repeat(fl.on_signal())).discarding().agg(n=fl.count())
        again = counts.window(fl.tumbling("1 min")).trigger(fl.repeat(fl.on_signal())).agg(all=fl.sum("n"))
        whole = fl.CompositeOperator()
        whole.add_operator(counts.operator(), inputs="orders", output="counts")
        whole.add_operator(again.operator(), inputs="counts", output="end")
        whole.add_operator(told.sort().operator(), inputs="others", output="sorted")
        whole.add([{"ts": 1}, {"ts": 2}], source="orders", clock=7 * S)
        assert {operator.clock for operator in whole.operators.values()} == {7 * S}
        whole.advance(signal=True)
        assert whole.take("end").column("all").to_pylist() == [2]


class TestARefusalAtTheEnd:
    def test_stops_the_first_operator_and_loses_nothing(self) -> None:
        expected, taken, willing = fed(wired("three")), [], [False]

        def moody(rows: pa.RecordBatch) -> bool:
            if willing[0]:
                taken.extend(shown(pa.Table.from_batches([rows])))
            return willing[0]

        whole, refusals = wired("three", downstream=moody), 0
        for number, bundle in enumerate(in_bundles(5)):
            try:
                whole.add(bundle, offset=5 * number)
            except fl.BackPressure:
                before = whole.accounting
                with pytest.raises(fl.BackPressure, match="'end': The downstream refused"):
                    whole.advance(watermark=1000 * S)
                assert whole.accounting == before  # nothing is half done
                refusals += 1
                willing[0] = True
                whole.advance()
                whole.add(bundle, offset=5 * number)  # the same records, and no duplicates
                willing[0] = False
        willing[0] = True
        whole.advance()
        whole.end()
        assert taken == expected
        assert refusals == 1
        assert all(books.duplicates == 0 for books in whole.accounting.values())

    def test_a_full_outbox_is_a_refusal_until_it_is_taken(self) -> None:
        whole, taken = wired("windows over windows", capacity=1), []
        for bundle in in_bundles(3):
            try:
                whole.add(bundle)
            except fl.BackPressure:
                taken += shown(whole.take())
                whole.add(bundle)
        taken += shown(whole.take())
        whole.end()
        assert taken + shown(whole.take()) == fed(wired("windows over windows"), 3)

    def test_an_operator_inside_may_have_a_downstream_too(self) -> None:
        """It stops the whole like one at the end."""
        counts, best = declared("windows over windows")
        whole = fl.CompositeOperator()
        whole.add_operator(counts.operator(downstream=lambda _: False), inputs="orders", output="counts")
        whole.add_operator(best.operator(), inputs="counts", output="end")
        whole.add([{"ts": 1, "shop": "a", "v": 1}, {"ts": 90, "shop": "a", "v": 1}])
        assert whole.take("end").column("most").to_pylist() == [1]  # that step was taken
        with pytest.raises(fl.BackPressure, match="'counts': The downstream refused 1 firings"):
            whole.add([{"ts": 91, "shop": "a", "v": 1}])


class Listener:
    """A downstream that hears watermarks."""

    def __init__(self, *, is_open: bool = True) -> None:
        self.is_open = is_open
        self.heard: list[Any] = []

    def take(self, rows: pa.RecordBatch) -> bool:
        if self.is_open:
            self.heard.append(rows.column("n").to_pylist())
        return self.is_open

    def watermark(self, time: int) -> None:
        self.heard.append(time // S)


class TestADownstreamThatListens:
    def test_is_told_the_watermark_after_the_rows(self) -> None:
        """Once for each move; the second stage hands on what the first does, so no row is behind it."""
        listener = Listener()
        told = fl.stream([], time="ts", unit="s", watermark=fl.Explicit())
        operator = told.window(fl.tumbling("10 s")).agg(n=fl.count()).operator(downstream=listener)
        operator.add([{"ts": 1}, {"ts": 12}], watermark=11 * S)
        operator.advance(watermark=15 * S)
        operator.advance()
        operator.advance(watermark=20 * S)
        assert listener.heard == [[1], 11, 15, [1], 20]

    def test_hears_what_is_handed_on(self) -> None:
        """Windows that fire when they expire hand on their lateness less."""
        listener = Listener()
        told = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).window(fl.tumbling("10 s"), lateness="5 s")
        operator = told.trigger(fl.at_expiry()).agg(n=fl.count()).operator(downstream=listener)
        operator.add([{"ts": 1}], watermark=15 * S)
        assert listener.heard == [[1], 10]

    def test_hears_nothing_while_it_refuses(self) -> None:
        listener = Listener(is_open=False)
        whole = fl.CompositeOperator()
        counts = counted(orders(watermark=fl.Explicit(), delay=None))
        whole.add_operator(counts.operator(downstream=listener), inputs="orders", output="counts")
        whole.add([{"ts": 1, "shop": "a", "v": 1}], watermark=10 * S)
        whole.advance()
        assert listener.heard == []
        listener.is_open = True
        whole.advance()
        assert listener.heard == [[1], 10]

    def test_has_no_watermark_of_a_result_without_times(self) -> None:
        listener = Listener()
        operator = fl.stream([], time="ts").window(fl.counting(2)).agg(n=fl.count()).operator(downstream=listener)
        operator.add([{"ts": 1}, {"ts": 12}, {"ts": 13}])
        assert listener.heard == [[2]]

    def test_must_take_rows(self) -> None:
        with pytest.raises(fl.SpecError, match=r"`downstream` \(3\) takes no rows.*take\(rows\)"):
            counted(orders()).operator(downstream=3)


BROKEN = 3
"""The bundle of 12 orders in which windows of all stages fire."""


def busy(chain: str, size: int) -> fl.CompositeOperator:
    whole = wired(chain)
    for number, bundle in enumerate(in_bundles(size)[:BROKEN]):
        whole.add(bundle, offset=number * size, clock=number * S)
    return whole


def rest(whole: fl.CompositeOperator, size: int) -> list[Any]:
    """Everything there is to see, from the interrupted step on; positions taken already are duplicates."""
    for number, bundle in enumerate(in_bundles(size)[BROKEN:], BROKEN):
        whole.add(bundle, offset=number * size, clock=number * S)
    letters = [table.to_pylist() for table in whole.dead_letters.values()]
    whole.end()
    counts = [(books.accepted, books.dead_letters, books.adds_up) for books in whole.accounting.values()]
    return [letters, counts, list(whole.watermarks.values()), whole.take("end").to_pylist()]


def again(chain: str, data: bytes) -> fl.CompositeOperator:
    return fl.CompositeOperator.restore(lambda: wired(chain), data)


class TestOneStep:
    @pytest.mark.parametrize("chain", ["windows over windows", "windows, sorted, windows", "changes"])
    def test_that_is_interrupted_was_whole_or_never_was(self, chain: str) -> None:
        size = 12
        written, expected, reached = busy(chain, size).snapshot(), rest(busy(chain, size), size), 0
        for line in lines(61):
            whole = again(chain, written)
            once_more = line // 3 % 60 + 1 if line % 3 == 0 else None
            bundle = in_bundles(size)[BROKEN]
            work = lambda whole=whole, bundle=bundle: whole.add(bundle, offset=BROKEN * size, clock=BROKEN * S)  # noqa: E731
            if not CtrlC(line, once_more).during(work):
                break
            if line % 4 == 0:
                whole = again(chain, whole.snapshot())
            assert rest(whole, size) == expected, f"interrupted at line {line}, again {once_more}"
            reached = line
        assert reached > 1_000

    def test_that_is_the_first_or_the_last_may_be_interrupted(self) -> None:
        """Then no operator knows its columns, or none is to know that the input ended."""
        expected = fed(wired("three"), 60)
        for line in lines(97):
            whole = wired("three")
            first = CtrlC(line).during(lambda whole=whole: whole.add(ORDERS, offset=0))
            whole.add(ORDERS, offset=0)
            last = CtrlC(line).during(whole.end)
            whole.end()
            assert shown(whole.take()) == expected, f"interrupted at line {line}"
            if not first and not last:
                break
        assert line > 500

    def test_that_fails_at_the_end_leaves_the_first_as_it_was(self) -> None:
        """A hook of the last operator fails: the first has not taken the records either, and an end has not come."""
        failing = [True]

        def hook(rows: pa.RecordBatch) -> pa.RecordBatch:
            if failing[0]:
                raise ConnectionError("gone")
            return rows

        whole, taken = wired("three", before_process=hook), 0
        for bundle in in_bundles(7):
            try:
                whole.add(bundle)
            except ConnectionError:
                break
            taken += len(bundle)
        seen = whole.accounting
        assert seen["s1"].received == taken
        with pytest.raises(ConnectionError):
            whole.end()
        assert whole.accounting == seen
        failing[0] = False
        for bundle in in_bundles(7)[taken // 7 :]:
            whole.add(bundle)
        whole.end()
        assert shown(whole.take()) == fed(wired("three"), 7)


class TestOneSnapshot:
    @pytest.mark.parametrize("chain", CHAINS)
    def test_goes_on_in_the_middle(self, chain: str) -> None:
        expected = fed(wired(chain), 12)
        for cut in range(6):
            whole = wired(chain)
            for number, bundle in enumerate(in_bundles(12)[:cut]):
                whole.add(bundle, offset=12 * number)
            written = whole.snapshot()
            later = again(chain, written)
            assert later.snapshot() == written
            assert fed(later, 12) == expected  # from the start: what came before are duplicates
            assert later.accounting[whole_first(later)].duplicates == 12 * cut

    def test_has_what_nobody_took(self) -> None:
        whole = wired("windows over windows")
        whole.add([{"ts": None, "shop": "a", "v": 1}, *ORDERS])
        later = again("windows over windows", whole.snapshot())
        assert later.results().to_pylist() == whole.results().to_pylist() != []
        assert later.dead_letters["s1"].to_pylist() == whole.dead_letters["s1"].to_pylist() != []
        assert later.operators["end"].accounting == whole.operators["end"].accounting

    def test_of_other_operators_is_refused(self) -> None:
        written = busy("windows over windows", 12).snapshot()
        with pytest.raises(fl.StateError, match=r"wired otherwise: s1 → end; s0 → s1 before, s0 → s1; s1 → s2; s2"):
            again("three", written)
        with pytest.raises(fl.StateError, match="written by another pipeline"):
            again("changes", written)

    def test_of_one_operator_is_refused(self) -> None:
        operator = counted(orders()).operator()
        operator.add(ORDERS)
        with pytest.raises(fl.StateError, match="no snapshot of a composite"):
            again("three", operator.snapshot())

    def test_that_is_damaged_is_refused(self) -> None:
        written = busy("three", 12).snapshot()
        with pytest.raises(fl.StateError):
            again("three", written[:-9] + bytes(9))


def whole_first(whole: fl.CompositeOperator) -> str:
    return next(iter(whole.operators))


class TestWiring:
    def test_a_cycle_is_refused(self) -> None:
        sort = orders().sort()
        whole = fl.CompositeOperator()
        whole.add_operator(sort.operator(), inputs="a", output="b")
        whole.add_operator(sort.operator(), inputs="b", output="c")
        with pytest.raises(fl.SpecError, match="'a' → 'b' → 'c' → 'a' is a cycle"):
            whole.add_operator(sort.operator(), inputs="c", output="a")
        with pytest.raises(fl.SpecError, match="'d' → 'd' is a cycle"):
            whole.add_operator(sort.operator(), inputs="d", output="d")

    def test_a_stream_has_one_origin(self) -> None:
        whole = fl.CompositeOperator(sources="orders")
        whole.add_operator(orders().sort().operator(), inputs="orders", output="sorted")
        with pytest.raises(fl.SpecError, match="two operators give 'sorted'"):
            whole.add_operator(orders().sort().operator(), inputs="orders", output="sorted")
        with pytest.raises(fl.SpecError, match="'orders' comes from outside"):
            whole.add_operator(orders().sort().operator(), inputs="sorted", output="orders")

    def test_an_input_from_nowhere_is_told_at_the_first_use(self) -> None:
        whole = fl.CompositeOperator(sources="orders")
        whole.add_operator(orders().sort().operator(), inputs="order", output="sorted")
        with pytest.raises(fl.SpecError, match=r"nobody gives 'order'.*'sorted' takes.*`sources` \('orders'\)"):
            whole.advance(clock=S)

    def test_nothing_is_nothing(self) -> None:
        with pytest.raises(fl.SpecError, match=r"no stream from outside.*none was added"):
            fl.CompositeOperator().add([])
        with pytest.raises(fl.SpecError, match="has no operators yet"):
            fl.CompositeOperator().end()

    def test_who_follows_needs_a_time(self) -> None:
        pairs = orders().window(fl.counting(2)).agg(n=fl.count())
        rows = fl.stream([], time="window_time").sort()
        whole = fl.CompositeOperator()
        whole.add_operator(pairs.operator(), inputs="orders", output="pairs")
        with pytest.raises(fl.SpecError, match="operator of 'sorted' cannot take 'pairs'"):
            whole.add_operator(rows.operator(), inputs="pairs", output="sorted")

    def test_who_follows_goes_by_the_time_that_is_handed_on(self) -> None:
        whole = fl.CompositeOperator()
        whole.add_operator(counted(orders()).operator(), inputs="orders", output="counts")
        with pytest.raises(fl.SpecError, match=r"'sorted' cannot take 'counts'.*'ts'.*time='window_time'"):
            whole.add_operator(orders().sort().operator(), inputs="counts", output="sorted")

    def test_who_follows_changes_must_know_it(self) -> None:
        rows = fl.stream([], time="window_time").window(fl.tumbling("1 min")).agg(n=fl.count())
        whole = fl.CompositeOperator()
        whole.add_operator(corrected(orders()).operator(), inputs="orders", output="counts")
        with pytest.raises(fl.SpecError, match="'rows' cannot take 'counts': its rows take each other's place"):
            whole.add_operator(rows.operator(), inputs="counts", output="rows")

    def test_two_inputs_need_a_watermark_each(self) -> None:
        whole = fl.CompositeOperator()
        whole.add_operator(orders().sort().operator(), inputs="a", output="b")
        with pytest.raises(fl.SpecError, match=r"takes 'b', 'c'.*fl.several\(\{'b': fl.Explicit\(\), 'c'"):
            whole.add_operator(orders().sort().operator(), inputs=["b", "c"], output="d")
        named = orders(watermark=fl.several({"b": fl.Explicit(), "x": fl.Explicit()}), delay=None).sort()
        with pytest.raises(fl.SpecError, match="takes 'b', 'c', and its watermark is made of 'b', 'x'"):
            whole.add_operator(named.operator(), inputs=["b", "c"], output="d")

    @pytest.mark.parametrize("inputs", [[], ["a", "a"], [""], [3]])
    def test_names_are_names(self, inputs: Any) -> None:
        with pytest.raises(fl.SpecError, match="add_operator"):
            fl.CompositeOperator().add_operator(orders().sort().operator(), inputs=inputs, output="b")

    def test_operators_are_new_and_come_before_the_first_step(self) -> None:
        whole, used = wired("windows over windows"), orders().sort().operator()
        used.advance(watermark=S)
        with pytest.raises(fl.SpecError, match="has taken steps, or is part of a composite"):
            whole.add_operator(used, inputs="s0", output="other")
        with pytest.raises(fl.SpecError, match="has taken steps, or is part of a composite"):
            fl.CompositeOperator().add_operator(whole.operators["end"], inputs="s0", output="other")
        nothing: Any = "sort"
        with pytest.raises(fl.SpecError, match="'sort' is no operator"):
            whole.add_operator(nothing, inputs="s0", output="other")
        whole.advance(watermark=S)
        with pytest.raises(fl.SpecError, match="'other' comes too late"):
            whole.add_operator(orders().sort().operator(), inputs="s0", output="other")

    def test_what_can_be_taken_is_said(self) -> None:
        whole = wired("three")
        with pytest.raises(fl.SpecError, match=r"rows of 's1' go to other operators.*keep=True"):
            whole.take("s1")
        with pytest.raises(fl.SpecError, match=r"'s7' is no stream that waits. Use one of 'end'"):
            whole.take("s7")
        with pytest.raises(fl.SpecError, match=r"`source` \('s1'\) is no stream from outside. Use one of 's0'"):
            whole.add(ORDERS, source="s1")


class TestOneCaller:
    def test_a_part_takes_no_steps_of_its_own_and_can_be_asked(self) -> None:
        whole = wired("windows over windows")
        whole.add(ORDERS[:20])
        part: Any = whole.operators["s1"]
        assert len(part.windows()) > 0
        assert part.accounting.received == 20
        for call in (lambda: part.add([]), part.advance, part.end, part.take, part.results, part.flush, part.snapshot):
            with pytest.raises(fl.EngineError, match="part of a composite operator"):
                call()

    def test_a_hook_may_look_and_not_step(self) -> None:
        whole: fl.CompositeOperator
        seen: list[Any] = []

        def look(rows: pa.RecordBatch) -> pa.RecordBatch:
            seen.append((whole.accounting["s1"].received, whole.watermarks["end"]))
            with pytest.raises(fl.EngineError, match=r"called inside `(add|end)`"):
                whole.take()
            with pytest.raises(fl.EngineError, match=r"called inside `(add|end)`"):
                _ = whole.operators["s1"].dead_letters
            return rows

        whole = wired("windows over windows", before_process=look)
        whole.add(ORDERS)
        assert len(seen) == 1
        whole.end()
        assert shown(whole.take()) == fed(wired("windows over windows"), 60)
