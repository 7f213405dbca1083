"""What a row that leaves at once covers on the axis of time, so that a picture can show why others do not."""

from __future__ import annotations

from fanlight.model.recent import RecentSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import Timestamp
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.model.windows.window import Window


def reach_of(spec: StreamSpec, time: Timestamp) -> Window | None:
    """From where to where on the axis a row at `time` counts; None if its operator gives rows no such stretch.

        recent       [time ── within ──]        shown while the watermark is in it
        unique_by    [── within ── time ── within ──]        others of its id in it are duplicates

    >>> from fanlight.model.time.duration import Duration
    >>> reach_of(RecentSpec("ts", (), Duration(10)), 5)
    Window(start=5, end=16)
    """
    match spec:
        case RecentSpec(within=within):
            return Window(time, time + within.micros + 1)
        case UniqueSpec(within=within, keep=Keep.FIRST):
            return Window(time - within.micros, time + within.micros + 1)
    return None


def told_of(spec: StreamSpec) -> str:
    """What the bar of a row that leaves means."""
    match spec:
        case RecentSpec():
            return "row that left, and its step; the bar is where it is shown"
        case UniqueSpec(keep=Keep.FIRST):
            return "row that left, and its step; in its bar others of its id repeat it"
    return "rows left in this step, in this order, by the steps they came in"
