"""Windows over positions: counted as records arrive, or read from a column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.errors import InputError, SpecError
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.windows.cumulating import Cumulating
from fanlight.model.windows.tumbling import Tumbling


def letters(text: str) -> list[dict[str, Any]]:
    return [{"k": letter} for letter in text]


def counted(kind: Any, source: Any = (), *, keyed: bool = False, **options: Any) -> fl.Windowed:
    stream = fl.stream(source, time="ts", delay="0 s", **options)
    return (stream.key_by("k") if keyed else stream).window(kind)


def windows(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    return [(row["window"]["start"], row["window"]["end"], *(row[name] for name in names)) for row in table.to_pylist()]


class TestPerStream:
    def test_every_so_many_records_a_window_is_full(self) -> None:
        """The time column is not there, and nobody asks for it."""
        result = counted(fl.counting(3, per="stream"), letters("abcdefgh"), rows=2).agg(said=fl.list("k"))
        full = [(1, 4, ["a", "b", "c"]), (4, 7, ["d", "e", "f"])]
        assert windows(result.table(), "said") == [*full, (7, 10, ["g", "h"])]
        assert result.table().schema.field("window").type.field("start").type == pa.int64()

    def test_a_window_fires_with_the_record_that_fills_it(self) -> None:
        operator = counted(fl.counting(3, per="stream")).agg(n=fl.count()).operator()
        operator.add(letters("ab"))
        assert operator.watermark == 3
        assert not len(operator.take())
        operator.add(letters("c"))
        assert operator.watermark == 4
        assert windows(operator.take(), "n") == [(1, 4, 3)]

    def test_the_first_windows_hold_what_there_is(self) -> None:
        result = counted(fl.counting(4, every=2, per="stream"), letters("abcdef")).agg(said=fl.list("k"))
        assert windows(result.table(), "said") == [
            (-1, 3, ["a", "b"]),
            (1, 5, ["a", "b", "c", "d"]),
            (3, 7, ["c", "d", "e", "f"]),
            (5, 9, ["e", "f"]),
        ]

    def test_keys_share_the_positions_of_the_stream(self) -> None:
        result = counted(fl.counting(4, per="stream"), letters("aabaabbb"), keyed=True).agg(n=fl.count())
        assert windows(result.table(), "k", "n") == [(1, 5, "a", 3), (1, 5, "b", 1), (5, 9, "a", 1), (5, 9, "b", 3)]

    def test_watermarks_from_outside_mean_nothing(self) -> None:
        operator = counted(fl.counting(3, per="stream")).agg(n=fl.count()).operator()
        operator.add(letters("a"), watermark=1_000)
        operator.advance(watermark=2_000, clock=5)
        assert operator.watermark == 2
        operator.add(letters("bc"))
        assert windows(operator.take(), "n") == [(1, 4, 3)]
        assert not len(operator.take_dead_letters())

    def test_a_replayed_record_takes_no_position(self) -> None:
        operator = counted(fl.counting(3, per="stream")).agg(said=fl.list("k")).operator()
        operator.add(letters("ab"), offset=0)
        operator.add(letters("bc"), offset=1)
        assert windows(operator.take(), "said") == [(1, 4, ["a", "b", "c"])]
        assert operator.accounting.duplicates == 1

    def test_positions_go_on_after_a_restart(self) -> None:
        operator = counted(fl.counting(3, per="stream")).agg(said=fl.list("k")).operator()
        operator.add(letters("ab"))
        operator = fl.WindowOperator.restore(operator.spec, operator.snapshot())
        operator.add(letters("cd"))
        operator.end()
        assert windows(operator.take(), "said") == [(1, 4, ["a", "b", "c"]), (4, 7, ["d"])]

    def test_early_firings_have_no_time(self) -> None:
        trigger = fl.at_watermark(early=fl.after(1))
        operator = counted(fl.counting(3, per="stream")).trigger(trigger).agg(n=fl.count()).operator()
        operator.add(letters("a"))
        operator.add(letters("bc"))
        fired = operator.take()
        panes = fired["pane"].to_pylist()
        assert [(pane["timing"], pane["time"]) for pane in panes] == [("EARLY", None), ("ON_TIME", None)]
        assert windows(fired, "n") == [(1, 4, 1), (1, 4, 3)]

    def test_a_period_of_the_event_domain_counts_positions(self) -> None:
        """After records 1 to 3 the watermark is 4, the first multiple of 4 above 1."""
        early = fl.at_watermark(early=fl.every(Duration(4), domain="event"))
        operator = counted(fl.counting(9, per="stream")).trigger(early).agg(n=fl.count()).operator()
        for letter in letters("abcd"):
            operator.add([letter])
        assert windows(operator.take(), "n") == [(1, 10, 3)]
        with pytest.raises(SpecError, match="is no clock"):
            fl.every("4 us", domain="arrival")

    def test_what_windows_hold_can_be_read(self) -> None:
        kept = fl.stream((), time="ts").window(
            fl.counting(2, per="stream"), retention=fl.retention("1 day", messages=True)
        )
        operator = kept.agg(n=fl.count()).operator()
        operator.add(letters("abc"))
        assert windows(operator.windows(), "n") == [(1, 3, 2), (3, 5, 1)]
        assert windows(operator.windows(start=3), "n") == [(3, 5, 1)]
        assert operator.messages(2, 4).to_pydict() == {"ts": [2, 3], "k": ["b", "c"]}

    def test_results_can_be_grouped_again(self) -> None:
        counts = counted(fl.counting(4, per="stream"), letters("aabaabbb"), keyed=True).agg(n=fl.count())
        best = counts.rewindow().agg(best=fl.top("row", 1, by="n"))
        assert windows(best.table(), "best") == [(1, 5, [{"k": "a", "n": 3}]), (5, 9, [{"k": "b", "n": 3}])]

    @given(st.integers(1, 6), st.integers(1, 6), st.lists(st.integers(0, 7), max_size=8))
    def test_any_cut_into_bundles_gives_the_same_windows(self, one: int, other: int, cuts: list[int]) -> None:
        size, every = max(one, other), min(one, other)
        operator = counted(fl.counting(size, every=every, per="stream")).agg(said=fl.list("n")).operator()
        count = 0
        for length in cuts:
            operator.add(pa.record_batch({"n": pa.array(range(count + 1, count + 1 + length), pa.int64())}))
            count += length
        operator.end()
        expected = []
        for end in range(2, count + size + 1):
            held = [position for position in range(max(end - size, 1), end) if position <= count]
            if (end - size - 1) % every == 0 and held:
                expected.append((end - size, end, held))
        assert (windows(operator.take(), "said") if operator.is_bound else []) == expected


class TestByColumn:
    def test_positions_come_from_the_column_in_any_order(self) -> None:
        source = [{"n": n} for n in (2, 1, 3, 5, 4, 7)]
        result = counted(fl.counting(3, per="stream", by="n"), source).agg(said=fl.list("n"))
        assert [(start, end, sorted(said)) for start, end, said in windows(result.table(), "said")] == [
            (1, 4, [1, 2, 3]),
            (4, 7, [4, 5]),
            (7, 10, [7]),
        ]

    def test_the_greatest_position_closes_what_is_before_it(self) -> None:
        operator = counted(fl.counting(3, per="stream", by="n")).agg(n=fl.count()).operator()
        operator.add([{"n": 2}, {"n": 5}, {"n": 1}])
        assert operator.watermark == 6
        assert windows(operator.take(), "n") == [(1, 4, 2)]
        operator.add([{"n": 3}, {"n": 4}])
        assert operator.watermark == 6
        operator.end()
        assert windows(operator.take(), "n") == [(4, 7, 2)]
        [letter] = operator.take_dead_letters().to_pylist()
        assert letter == {"reason": "expired", "watermark": 6, "detail": None, "record": {"n": 3}}

    def test_what_is_no_position_is_a_dead_letter(self) -> None:
        operator = counted(fl.counting(2, per="stream", by="n")).agg(n=fl.count()).operator()
        operator.add([{"n": None}, {"n": 0}, {"n": -3}, {"n": 1}])
        operator.end()
        assert windows(operator.take(), "n") == [(1, 3, 1)]
        found = [(row["reason"], row["record"]["n"]) for row in operator.take_dead_letters().to_pylist()]
        assert found == [("null_time", None), ("time_out_of_range", 0), ("time_out_of_range", -3)]
        assert operator.accounting.adds_up

    def test_only_whole_numbers_are_positions(self) -> None:
        operator = counted(fl.counting(2, per="stream", by="n")).agg(c=fl.count()).operator()
        with pytest.raises(InputError, match="positions are whole numbers"):
            operator.add([{"n": 1.5}])

    def test_the_column_must_be_there(self) -> None:
        operator = counted(fl.counting(2, per="stream", by="number")).agg(c=fl.count()).operator()
        with pytest.raises(InputError, match="'number' is not in the input"):
            operator.add([{"k": 1}])


class TestOtherKinds:
    """Durations count records where the domain is the order of arrival."""

    def test_tumbling(self) -> None:
        kind = Tumbling(Duration(3), Duration(1), TimeDomain.ARRIVAL)
        assert windows(counted(kind, letters("abcd")).agg(n=fl.count()).table(), "n") == [(1, 4, 3), (4, 7, 1)]

    def test_cumulating(self) -> None:
        kind = Cumulating(Duration(4), Duration(2), Duration(1), TimeDomain.ARRIVAL)
        result = counted(kind, letters("abcde")).agg(said=fl.list("k"))
        assert windows(result.table(), "said") == [
            (1, 3, ["a", "b"]),
            (1, 5, ["a", "b", "c", "d"]),
            (5, 7, ["e"]),
            (5, 9, ["e"]),
        ]

    def test_global(self) -> None:
        """The window of all positions has no bounds, and fires when the input ends."""
        result = counted(fl.global_window(domain="arrival"), letters("abc")).agg(n=fl.count())
        assert windows(result.table(), "n") == [(None, None, 3)]

    def test_nothing_is_late_there(self) -> None:
        with pytest.raises(SpecError, match=r"`lateness` .* means nothing"):
            fl.stream([], time="ts").window(fl.counting(3, per="stream"), lateness="1 s").agg(n=fl.count())
