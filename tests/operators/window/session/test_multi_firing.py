"""Sessions that can fire more than once: one whose bounds change is a new pane, and the old one hands on what it has.

The gap is five, and every record fires unless the story says otherwise.
"""

from __future__ import annotations

from tests.operators.window.stories import came, indexes, rows, story

import fanlight as fl
from fanlight.model.firing import Accumulation
from fanlight.testing import Step

FIVE = fl.session("5 us")


def test_a_session_that_grows_takes_back_what_the_shorter_one_has_said() -> None:
    """[1, 6) becomes [1, 9): another window, so the row of the first is deleted, and its numbers do not go on."""
    told = story(FIVE, came(1), came(4))
    assert rows(told) == [[("+I", 1, 6, [1])], [("-D", 1, 6, [1]), ("+I", 1, 9, [1, 4])]]
    assert indexes(told) == [[0], [1, 0]]


def test_a_session_whose_bounds_stay_is_the_same_pane() -> None:
    """A record at 2 lengthens nothing of [1, 9): the row is updated, and is the second firing."""
    told = story(FIVE, came(1, 4), came(2))
    assert rows(told)[1] == [("-U", 1, 9, [1, 4]), ("+U", 1, 9, [1, 2, 4])]
    assert indexes(told)[1] == [1, 1]


def test_a_bridge_takes_back_both_sides() -> None:
    told = story(FIVE, came(1, 9), came(5))
    assert rows(told) == [
        [("+I", 1, 6, [1]), ("+I", 9, 14, [9])],
        [("-D", 1, 6, [1]), ("-D", 9, 14, [9]), ("+I", 1, 14, [1, 5, 9])],
    ]


def test_sessions_of_other_keys_stay_as_they_are() -> None:
    """What comes to a reads the bucket that the session of b is in, too: it is kept, and grows from where it was."""
    told = story(FIVE, came(1), came(2, key="b"), came(3), came(4, key="b"))
    assert rows(told)[3] == [("-D", 2, 7, [2]), ("+I", 2, 9, [2, 4])]


def test_what_never_fired_is_not_taken_back_and_its_pending_records_count() -> None:
    """One and one wait in two sessions; the bridge is the third, and three are enough."""
    told = story(FIVE, came(1), came(9), came(5), trigger=fl.at_watermark(early=fl.after(3)))
    assert rows(told) == [[], [], [("+I", 1, 14, [1, 5, 9])]]


def test_discarding_a_merged_session_fires_what_is_pending() -> None:
    """1 was handed out; merged with 4, only 4 is new."""
    told = story(FIVE, came(1), came(4), accumulation=Accumulation.DISCARDING)
    assert rows(told) == [[("+I", 1, 6, [1])], [("+I", 1, 9, [4])]]


def test_a_session_is_shown_on_time_when_it_closes_and_stays_for_its_lateness() -> None:
    """[1, 6) closes at 6 and expires at 10; at 8 a record of 5 lengthens it to [1, 10), which is open again."""
    told = story(
        FIVE,
        came(1),
        Step(watermark=8),
        came(5),
        Step(watermark=14),
        trigger=fl.at_watermark(),
        lateness=fl.Duration(4),
    )
    assert rows(told) == [
        [],
        [("+I", 1, 6, [1])],
        [("-D", 1, 6, [1])],
        [("+I", 1, 10, [1, 5])],
    ]


def test_what_meets_a_session_that_has_finished_is_a_dead_letter() -> None:
    """Without a late part the on-time firing is the last: 4 meets [1, 6), 7 does not."""
    told = story(
        FIVE, came(1), Step(watermark=6), came(4, 7), trigger=fl.at_watermark(late=None), lateness=fl.Duration(9)
    )
    assert [(reason.value, record["ts"]) for reason, record in told.dead_letters] == [("finished", 4)]
    assert told.outcomes[2].accepted == 1


def test_sessions_in_many_buckets_are_found_again() -> None:
    """Buckets are two seconds wide: [0, 2) and [3, 5) lie in different ones, and 1.5 brings the bridge [1.5, 3.5)."""
    second = 1_000_000
    told = story(fl.session("2 s"), came(0, 10 * second), came(3 * second), came(1_500_000))
    assert rows(told)[2] == [
        ("-D", 0, 2 * second, [0]),
        ("-D", 3 * second, 5 * second, [3 * second]),
        ("+I", 0, 5 * second, [0, 1_500_000, 3 * second]),
    ]
