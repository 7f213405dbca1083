"""Sessions with limits: cut from the first record to the last, and cut anew when one comes that moves the cuts.

The gap is five and a tick is one: a session that was cut ends one after its last record.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.operators.window.stories import Row, came, rows, story

import fanlight as fl
from fanlight.errors import InputError
from fanlight.testing import Step

PAIRS = fl.session("5 us", max_count=2)


def last_rows(*steps: Step, window: fl.Session = PAIRS) -> list[tuple[int, int, list[int]]]:
    """What stands in the table of results after all steps: start, end and records."""
    table: dict[tuple[int, int], list[int]] = {}
    for step in rows(story(window, *steps)):
        for op, start, end, of in step:
            if op in ("-D", "-U"):
                assert table.pop((start, end)) == of, "what is taken back is what was shown"
            else:
                table[start, end] = of
    return [(start, end, of) for (start, end), of in sorted(table.items())]


def test_a_session_is_cut_after_so_many_records() -> None:
    assert last_rows(came(1, 2, 3, 4, 5)) == [(1, 3, [1, 2]), (3, 5, [3, 4]), (5, 10, [5])]


def test_records_of_one_time_are_never_cut_apart() -> None:
    """The second record is at 2, and so are two more."""
    assert last_rows(came(1, 2, 2, 2, 3)) == [(1, 3, [1, 2, 2, 2]), (3, 8, [3])]


def test_a_session_is_cut_before_the_record_that_is_so_long_after_its_first() -> None:
    """5 is four after 1; from there 8 is three after 5, and 9 is four."""
    window = fl.session("5 us", max_duration="4 us")
    assert last_rows(came(1, 3, 5, 8, 9), window=window) == [(1, 4, [1, 3]), (5, 9, [5, 8]), (9, 14, [9])]


def test_a_session_is_cut_after_a_record_that_ends_it() -> None:
    window = fl.session("5 us", ends_on="over")
    assert last_rows(came(1, 2, 3, over=(2,)), window=window) == [(1, 3, [1, 2]), (3, 8, [3])]


def test_all_limits_hold_at_once() -> None:
    """1 ends it at once; 2 and 3 are two; 4 and 6 are one session, because 8 is four after 4."""
    window = fl.session("5 us", max_count=2, max_duration="4 us", ends_on="over")
    found = last_rows(came(1, 2, 3, 4, 6, 8, over=(1,)), window=window)
    assert found == [(1, 2, [1]), (2, 4, [2, 3]), (4, 7, [4, 6]), (8, 13, [8])]


def test_silence_ends_a_session_too_and_then_the_count_begins_anew() -> None:
    assert last_rows(came(1, 20, 21)) == [(1, 6, [1]), (20, 22, [20, 21])]


def test_a_record_that_comes_late_moves_every_cut_after_it() -> None:
    """2 3 | 4 5 becomes 1 2 | 3 4 | 5: every session is another, and what was shown is taken back."""
    told = rows(story(PAIRS, came(2, 3, 4, 5), came(1)))
    assert told[0] == [("+I", 2, 4, [2, 3]), ("+I", 4, 6, [4, 5])]
    assert told[1] == [
        ("-D", 2, 4, [2, 3]),
        ("-D", 4, 6, [4, 5]),
        ("+I", 1, 3, [1, 2]),
        ("+I", 3, 5, [3, 4]),
        ("+I", 5, 10, [5]),
    ]


def test_a_session_before_the_record_is_not_touched() -> None:
    """1 2 | 3 and then 4: only the second grows, from [3, 8) to [3, 5)."""
    told = rows(story(PAIRS, came(1, 2, 3), came(4)))
    assert told[1] == [("-D", 3, 8, [3]), ("+I", 3, 5, [3, 4])]


def test_a_session_that_only_becomes_shorter_is_shown_again() -> None:
    """7 is two after 5, so 5 is cut off before it: no record came to [5, 6), but it takes the place of [5, 10)."""
    told = rows(story(fl.session("5 us", max_duration="2 us"), came(5), came(7)))
    assert told == [[("+I", 5, 10, [5])], [("-D", 5, 10, [5]), ("+I", 5, 6, [5]), ("+I", 7, 12, [7])]]


def test_a_bundle_at_a_time_or_one_by_one_the_table_is_the_same() -> None:
    times = (3, 1, 9, 5, 2, 7, 4)
    assert (
        last_rows(came(*times))
        == last_rows(*(came(time) for time in times))
        == [
            (1, 3, [1, 2]),
            (3, 5, [3, 4]),
            (5, 8, [5, 7]),
            (9, 14, [9]),
        ]
    )


def test_the_session_before_cutting_is_judged() -> None:
    """At watermark 9, [2, 7) alone is over, but with 5 it is one session that ends at 10: the record is accepted."""
    told = story(PAIRS, came(5), Step(watermark=9), came(2), trigger=fl.at_watermark())
    assert told.outcomes[2].accepted == 1
    alone = story(PAIRS, came(50), Step(watermark=9), came(2), trigger=fl.at_watermark())
    assert [reason.value for reason, _ in alone.dead_letters] == ["expired"]


def test_what_is_over_is_forgotten_and_cut_no_more() -> None:
    """[1, 3) and [3, 5) have expired at 5; a record at 5 begins a session of its own."""
    told: list[list[Row]] = rows(story(PAIRS, came(1, 2, 3, 4), Step(watermark=5), came(5)))
    assert told[2] == [("+I", 5, 10, [5])]


def test_a_column_that_is_neither_true_nor_false_ends_nothing() -> None:
    schema = pa.schema({"ts": pa.int64(), "over": pa.string()})
    ending = fl.stream([], time="ts", unit="us", schema=schema).window(fl.session("5 us", ends_on="over"))
    operator = ending.agg(n=fl.count()).operator()
    with pytest.raises(InputError, match=r"`ends_on` 'over' is string, which is neither true nor false"):
        operator.add([{"ts": 1, "over": "no"}])
