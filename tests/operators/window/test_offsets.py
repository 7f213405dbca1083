"""The first and last offset of windows, and messages by offset: those all keys share, those each key has for itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.operators.window.offsets import extremes, extremes_of_ranges

S = 1_000_000
KEPT = fl.retention("10 s", messages=True, offsets="offset")
BY_HAND = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).key_by("k")


def pipeline(kind: fl.WindowKind, retention: fl.Retention = KEPT, **said: Any) -> fl.WindowOperator:
    return BY_HAND.window(kind, retention=retention, **said).agg(n=fl.count()).operator()


def order(ts: int, k: str = "tea") -> dict[str, Any]:
    return {"ts": ts, "k": k}


def seen(operator: fl.WindowOperator, **asked: Any) -> list[tuple[Any, ...]]:
    """What windows say: key, status, first and last offset, in order of time."""
    rows = operator.windows(**asked).to_pylist()
    return [(row["k"], *(row["pane"][name] for name in ("status", "first_offset", "last_offset"))) for row in rows]


class TestWindows:
    def test_the_time_windows_of_the_design_of_samza(self) -> None:
        """Orders 1 and 3 are of [8:59, 9:00), order 2 is of the minute after."""
        operator = pipeline(fl.tumbling("1 minute"), lateness="1 hour")
        nine = 9 * 3600
        for offset, ts in ((1, nine - 50), (2, nine + 1), (3, nine - 30)):
            operator.add([order(ts)], offset=offset)
        assert seen(operator) == [("tea", "open", 1, 3), ("tea", "open", 2, 2)]

    def test_the_tuple_windows_of_the_design_of_samza(self) -> None:
        operator = pipeline(fl.counting(3))
        operator.add([order(1), order(2), order(3), order(4)], offset=1)
        assert seen(operator) == [("tea", "expired", 1, 3), ("tea", "open", 4, 4)]

    def test_a_record_is_counted_in_the_windows_that_took_it(self) -> None:
        """Windows of ten every five. Offset 8 comes when [0, 10) has expired, and is in [5, 15) only."""
        operator = pipeline(fl.hopping("10 s", every="5 s"), retention=fl.retention(messages=True, offsets="offset"))
        operator.add([order(6)], offset=7, watermark=10 * S)
        operator.add([order(7)], offset=8)
        assert seen(operator) == [("tea", "expired", 7, 7), ("tea", "open", 7, 8)]

    @pytest.mark.parametrize("kind", [fl.tumbling("10 s"), fl.session("5 s"), fl.sliding("5 s")])
    def test_expired_windows_tell_what_they_had_for_as_long_as_they_can_be_read(self, kind: fl.WindowKind) -> None:
        operator = pipeline(kind)
        operator.add([order(1), order(1, "milk")], offset=[5, 9], watermark=11 * S)
        assert seen(operator) == [("milk", "expired", 9, 9), ("tea", "expired", 5, 5)]
        operator = fl.WindowOperator.restore(operator.spec, operator.snapshot())
        assert seen(operator) == [("milk", "expired", 9, 9), ("tea", "expired", 5, 5)]
        operator.advance(watermark=30 * S)
        assert seen(operator) == []

    def test_are_read_by_key_too(self) -> None:
        operator = pipeline(fl.tumbling("10 s"))
        operator.add([order(1), order(2, "milk"), order(12, "milk")], offset=0)
        assert seen(operator, key="milk") == [("milk", "open", 1, 1), ("milk", "open", 2, 2)]
        assert seen(operator, start=10 * S, key="tea") == []
        with pytest.raises(fl.InputError, match="`key`"):
            operator.windows(key=("tea", "milk"))

    def test_have_no_offsets_where_none_are_kept(self) -> None:
        operator = pipeline(fl.tumbling("10 s"), fl.retention(messages=True))
        operator.add([order(1)], offset=3)
        assert list(operator.windows().to_pylist()[0]["pane"]) == ["records", "status"]

    def test_discarding_windows_tell_of_all_they_had(self) -> None:
        """The first record has been fired and discarded when the second, which is late, is pending."""
        windowed = BY_HAND.window(fl.tumbling("10 s"), lateness="1 min", retention=KEPT)
        operator = windowed.trigger(fl.at_watermark(late=fl.after(5))).discarding().agg(n=fl.count()).operator()
        operator.add([order(1)], offset=1, watermark=10 * S)
        operator.add([order(2)], offset=2)
        assert seen(operator) == [("tea", "closed", 1, 2)]


class TestMessages:
    @pytest.mark.parametrize("kind", [fl.tumbling("10 s"), fl.session("5 s"), fl.sliding("5 s"), fl.counting(2)])
    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ({}, [3, 4, 5, 6]),
            ({"start_offset": 4}, [4, 5, 6]),
            ({"end_offset": 6}, [3, 4, 5]),
            ({"start_offset": 4, "end_offset": 6}, [4, 5]),
            ({"start_offset": 4, "end_offset": 4}, []),
            ({"start_offset": 4, "key": "tea"}, [5]),
        ],
    )
    def test_from_the_first_offset_up_to_but_not_with_the_last(
        self, kind: fl.WindowKind, asked: dict[str, Any], found: list[int]
    ) -> None:
        operator = pipeline(kind, fl.retention(messages=True, offsets="offset"))
        operator.add([order(1), order(2, "milk"), order(3), order(14, "milk")], offset=3, watermark=20 * S)
        assert sorted(operator.messages(**asked).column("offset").to_pylist()) == found

    def test_by_time_and_offset(self) -> None:
        operator = pipeline(fl.tumbling("10 s"))
        operator.add([order(1), order(3), order(2)], offset=0)
        assert operator.messages(2 * S, start_offset=2).column("offset").to_pylist() == [2]

    @pytest.mark.parametrize("wrong", ["3", 2.5, True])
    def test_an_offset_is_a_whole_number(self, wrong: Any) -> None:
        operator = pipeline(fl.tumbling("10 s"))
        operator.add([order(1)])
        with pytest.raises(fl.InputError, match=r"`start_offset` .* is no offset\. Give a whole number"):
            operator.messages(start_offset=wrong)

    def test_a_pipeline_that_keeps_none_says_so(self) -> None:
        operator = pipeline(fl.tumbling("10 s"), fl.retention(messages=True))
        operator.add([order(1)], offset=3)
        with pytest.raises(fl.EngineError, match=r"keeps no offsets .* retention\(messages=True, offsets='offset'\)"):
            operator.messages(start_offset=3)


class TestDeclared:
    @pytest.mark.parametrize(
        ("said", "message"),
        [
            ({"messages": True, "offsets": ""}, "`offsets` .* is no column"),
            ({"messages": True, "offsets": True}, "`offsets` .* is no column"),
            ({"offsets": "offset"}, "are kept with the messages. Ask for both: messages=True"),
        ],
    )
    def test_wrong_is_refused(self, said: dict[str, Any], message: str) -> None:
        with pytest.raises(fl.SpecError, match=message):
            fl.retention(**said)

    def test_over_a_column_that_is_no_whole_number_is_refused(self) -> None:
        with pytest.raises(fl.InputError, match="'offset', which is string; offsets are whole numbers"):
            pipeline(fl.tumbling("10 s")).add([{**order(1), "offset": "first"}])


def test_the_least_and_greatest_of_groups_and_of_ranges() -> None:
    """A window without an offset has null."""
    offsets = pa.array([5, None, 3, 8])
    assert [side.to_pylist() for side in extremes(offsets, np.array([0, 1, 0, 2]), 3)] == [[3, None, 8], [5, None, 8]]
    low, high = np.array([0, 1, 1, 4]), np.array([3, 4, 2, 4])
    assert [side.to_pylist() for side in extremes_of_ranges(offsets, low, high)] == [
        [3, 3, None, None],
        [5, 8, None, None],
    ]
