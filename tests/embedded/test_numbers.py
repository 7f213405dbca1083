"""A value that its type cannot hold: it concerns its pane alone, is told exactly, and everything else goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

from .orders import BY_HAND, WINDOWED, S, counts, order

HALF = 2**62
"""Two of these are one more than int64 can hold."""

TOTALS = {"n": fl.count(), "total": fl.sum("v")}
WINDOW = {"start": "1970-01-01T00:00:00Z", "end": "1970-01-01T00:00:10Z"}
TOLD = {
    "key": {"k": "tea"},
    "window": WINDOW,
    "values": {"n": 2, "total": "9223372036854775808"},
    "out_of_range": ["total"],
}


def told(operator: fl.WindowOperator) -> list[dict[str, Any]]:
    letters = operator.take_dead_letters()
    assert set(letters["reason"].to_pylist()) <= {"value_out_of_range"}
    assert letters["record"].null_count == len(letters)
    return [json.loads(detail) for detail in letters["detail"].to_pylist()]


def totals(operator: fl.WindowOperator) -> list[tuple[Any, ...]]:
    rows = operator.take().to_pylist()
    return [(row["k"], row["pane"]["op"], row["total"], row["pane"]["number"], row["pane"]["revision"]) for row in rows]


WAYS: dict[str, Callable[[], fl.Windowed]] = {
    "tumbling": lambda: BY_HAND.window(fl.tumbling("10 s")),
    "hopping": lambda: BY_HAND.window(fl.hopping("10 s", every="10 s")),
    "with lateness": lambda: WINDOWED,
    "with a trigger": lambda: WINDOWED.trigger(fl.at_watermark(late=fl.after(2))),
    "sessions": lambda: BY_HAND.window(fl.session("8 s")),
    "sessions with lateness": lambda: BY_HAND.window(fl.session("8 s"), lateness="20 s"),
    "custom": lambda: BY_HAND.window(fl.custom(lambda times, _: (times * 0, times * 0 + 10 * S))),
    "sliding": lambda: BY_HAND.window(fl.sliding("9999999 us")),
}


@pytest.mark.parametrize("way", WAYS)
def test_one_pane_becomes_a_letter_and_the_others_leave(way: str) -> None:
    """Tea leaves int64 with its second order; milk does not. Tea's letter has all that its row would have said."""
    operator = WAYS[way]().agg(**TOTALS).operator()
    operator.add([order(0, "tea", HALF), order(2, "tea", HALF), order(2, "milk", 7)])
    operator.end()
    rows = operator.take().to_pylist()
    alone = [(row["k"], row["total"]) for row in rows if row["n"] == 1]
    assert ("milk", 7) in alone
    assert [row for row in rows if row["n"] > 1] == []
    (letter,) = told(operator)
    assert {**letter, "window": WINDOW} == TOLD
    assert letter["window"]["end"] in (WINDOW["end"], "1970-01-01T00:00:02.000001Z")
    assert counts(operator) == (3, 3, 0, 0)
    assert operator.accounting.values_out_of_range == 1


def test_the_window_of_a_letter_is_that_of_its_pane() -> None:
    operator = WINDOWED.agg(**TOTALS).operator()
    operator.add([order(1, v=HALF), order(2, v=HALF)], watermark=10 * S)
    letters = operator.dead_letters
    assert told(operator) == [TOLD]
    assert letters["watermark"].cast(pa.int64()).to_pylist() == [10 * S]


def test_a_row_shown_before_stays_the_last_one_shown() -> None:
    """Retracting, a firing for each record: what is taken back is what was shown, and numbers do not skip."""
    pipeline = WINDOWED.trigger(fl.repeat(fl.after(1))).retracting().agg(**TOTALS)
    operator = pipeline.operator()
    operator.add([order(1, v=HALF)])
    operator.add([order(2, v=HALF)])
    operator = fl.WindowOperator.restore(pipeline.spec, operator.snapshot())
    operator.add([order(3, v=-1)])
    assert totals(operator) == [
        ("tea", "+I", HALF, 0, -1),
        ("tea", "-U", HALF, 1, -1),
        ("tea", "+U", 2 * HALF - 1, 1, -1),
    ]
    assert told(operator) == [TOLD]


def test_what_comes_back_into_range_leaves_again() -> None:
    """Lateness: the window closes out of range, so no row was shown; the late record brings the first, a `+I`."""
    operator = WINDOWED.agg(**TOTALS).operator()
    operator.add([order(1, v=HALF), order(2, v=HALF)], watermark=10 * S)
    assert totals(operator) == []
    operator.add([order(3, v=HALF)])
    operator.add([order(3, v=-2 * HALF)])
    assert totals(operator) == [("tea", "+I", HALF, 0, 0)]
    operator.add([order(4, v=1)])
    assert totals(operator) == [("tea", "+U", HALF + 1, 1, 1)]
    assert [letter["values"]["total"] for letter in told(operator)] == [str(2 * HALF), str(3 * HALF)]


def test_a_discarding_pane_hands_its_content_to_the_letter_once() -> None:
    operator = WINDOWED.trigger(fl.repeat(fl.after(2))).discarding().agg(**TOTALS).operator()
    operator.add([order(1, v=HALF), order(2, v=HALF)])
    operator.add([order(3, v=1), order(4, v=1)])
    assert told(operator) == [TOLD]
    assert totals(operator) == [("tea", "+I", 2, 0, -1)]


def test_only_updates_are_compared_with_what_was_shown() -> None:
    """3 and 2**62 + 3 are shown, then the sum is out of range, then 2**62 + 3 again, which is no update."""
    operator = WINDOWED.trigger(fl.repeat(fl.after(1)), updated_only=True).agg(total=fl.sum("v")).operator()
    for value in (3, HALF, HALF, -HALF, -HALF):
        operator.add([order(1, v=value)])
    assert operator.take()["total"].to_pylist() == [3, HALF + 3, 3]
    assert len(told(operator)) == 1


def test_a_pane_that_is_read_shows_null() -> None:
    for pipeline in (
        WINDOWED,
        BY_HAND.window(fl.tumbling("10 s"), retention=fl.retention("1 h")),
        BY_HAND.window(fl.session("8 s")),
    ):
        operator = pipeline.agg(**TOTALS).operator()
        operator.add([order(1, v=HALF), order(2, v=HALF)])
        assert operator.windows().select(["n", "total"]).to_pylist() == [{"n": 2, "total": None}]
    operator = BY_HAND.window(fl.tumbling("10 s"), retention=fl.retention("1 h")).agg(**TOTALS).operator()
    operator.add([order(1, v=HALF), order(2, v=HALF)], watermark=10 * S)
    assert operator.windows().select(["n", "total"]).to_pylist() == [{"n": 2, "total": None}]


def test_a_step_that_fails_takes_its_letters_and_its_count_back() -> None:
    operator = BY_HAND.window(fl.tumbling("10 s")).agg(**TOTALS, half=fl.fold("v", 0, halved, pa.int64())).operator()
    operator.add([order(1, v=HALF), order(2, v=HALF), order(13, v=1)])
    with pytest.raises(fl.EngineError, match=r"returned 0.5"):
        operator.advance(watermark=20 * S)
    assert operator.accounting.values_out_of_range == 0
    operator.advance(watermark=10 * S)
    assert operator.accounting.values_out_of_range == 1
    assert len(told(operator)) == 1


def halved(state: int, value: int) -> Any:
    return state + (value // 2 if value % 2 == 0 else value / 2)


def test_decimals_and_durations_are_told_in_their_own_words() -> None:
    """Twice 38 nines need 39 digits; a duration is told in its unit."""
    most = Decimal("9" * 20 + "." + "9" * 18)
    long = timedelta(microseconds=2**62)
    table = pa.table(
        {
            "ts": [1, 2],
            "d": pa.array([most, most], pa.decimal128(38, 18)),
            "t": pa.array([long, long], pa.duration("us")),
        }
    )
    result = (
        fl.stream(table, time="ts", unit="s")
        .window(fl.tumbling("1 min"))
        .agg(d=fl.sum("d"), t=fl.sum("t"), m=fl.avg("d"))
    )
    assert result.table().num_rows == 0
    (detail,) = result.dead_letters["detail"].to_pylist()
    assert json.loads(detail)["values"] == {"d": "1" + "9" * 20 + "." + "9" * 17 + "8", "t": str(2**63), "m": str(most)}
    assert result.accounting.values_out_of_range == 1


def test_a_part_of_a_composite_is_told_inside_it() -> None:
    both = fl.composite(total=fl.sum("v"), least=fl.min("v"))
    among = fl.composite(total=fl.sum("v"), middle=fl.median("v"))
    for aggregate, rest in ((both, {"least": HALF}), (among, {"middle": float(HALF)})):
        for window in (fl.tumbling("10 s"), fl.session("10 s")):
            operator = BY_HAND.window(window).agg(all=aggregate).operator()
            operator.add([order(1, v=HALF), order(2, v=HALF)])
            operator.end()
            (letter,) = told(operator)
            assert letter["values"] == {"all": {"total": str(2**63), **rest}}


def test_a_later_stage_tells_its_own_among_the_letters_of_the_first() -> None:
    """Two products of 2**62 each fit; what they make together does not."""
    orders = [{"ts": 1, "k": "tea", "v": HALF}, {"ts": 2, "k": "milk", "v": HALF}, {"ts": None, "k": "tea", "v": 1}]
    first = fl.stream(orders, time="ts", unit="s").key_by("k").window(fl.tumbling("10 s")).agg(total=fl.sum("v"))
    second = first.rewindow().agg(total=fl.sum("total"))
    assert second.table().num_rows == 0
    letters = second.dead_letters
    assert letters["reason"].to_pylist() == ["null_time", "value_out_of_range"]
    assert letters["record"].to_pylist() == [orders[2], None]
    assert json.loads(letters["detail"][1].as_py())["values"] == {"total": str(2**63)}
