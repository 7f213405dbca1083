"""Windows over the positions of a key: the n-th record of the key that came, whatever its time.

Windows hold three records: the first is [1, 4), the second [4, 7).
"""

from __future__ import annotations

from tests.operators.window.stories import came, rows, story

import fanlight as fl
from fanlight.model.firing import Accumulation
from fanlight.testing import Step, Transcript

THREES = fl.counting(3, every=3, per="key")


def told(*steps: Step, window: fl.Counting = THREES) -> Transcript:
    """Every window fires when it is full, or when the input ends."""
    return story(window, *steps, trigger=fl.at_watermark(), accumulation=Accumulation.ACCUMULATING)


def test_a_window_fires_when_its_last_position_has_come() -> None:
    """The records are worth their times, which do not matter: they are counted as they come."""
    found = told(came(50, 10), came(30, 20))
    assert rows(found) == [[], [("+I", 1, 4, [50, 10, 30])]]


def test_each_key_counts_for_itself() -> None:
    found = told(came(1, 2), came(3, key="b"), came(4))
    assert rows(found) == [[], [], [("+I", 1, 4, [1, 2, 4])]]


def test_windows_overlap_where_they_start_more_often_than_they_are_long() -> None:
    """Position 3 is in [1, 4) and in [3, 6)."""
    found = told(came(1, 2, 3), came(4, 5), window=fl.counting(3, every=2, per="key"))
    assert ("+I", 1, 4, [1, 2, 3]) in rows(found)[0]
    assert rows(found)[1] == [("+I", 3, 6, [3, 4, 5])]


def test_what_is_not_full_fires_when_the_input_ends() -> None:
    found = told(came(1, 2), Step(end=True))
    assert rows(found)[1] == [("+I", 1, 4, [1, 2])]


def test_a_column_says_the_position_and_the_greatest_that_came_counts() -> None:
    """Position 7 has come, so [1, 4) is over with what it has; 2 comes too late for it."""
    found = told(came(1), came(7), came(2), window=fl.counting(3, every=3, per="key", by="v"))
    assert rows(found)[1] == [("+I", 1, 4, [1])]
    assert [reason.value for reason, _ in found.dead_letters] == ["expired"]
