"""What a row that leaves at once covers on the axis of time, so that a picture can show why others do not."""

from __future__ import annotations

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.fill import FillSpec
from fanlight.model.over.frame import RangeFrame
from fanlight.model.over.spec import OverSpec
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.model.recent import RecentSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import Timestamp
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.model.windows.window import Window


def reach_of(spec: StreamSpec, time: Timestamp) -> Window | None:
    """From where to where on the axis a row at `time` counts; None if its operator gives rows no such stretch.

        recent       [time ── within ──]        shown while the watermark is in it
        unique_by    [── within ── time ── within ──]        others of its id in it are duplicates
        over         [── preceding ── time ── following ──]        where it leaves as it comes: its frame

    >>> from fanlight.model.time.duration import Duration
    >>> reach_of(RecentSpec("ts", (), Duration(10)), 5)
    Window(start=5, end=16)
    """
    match spec:
        case RecentSpec(within=within):
            return Window(time, time + within.micros + 1)
        case UniqueSpec(within=within, keep=Keep.FIRST):
            return Window(time - within.micros, time + within.micros + 1)
        case OverSpec() if spec.mode is not EmissionMode.ON_CLOSE:
            frames = [one.frame for one in spec.new_columns if isinstance(one.frame, RangeFrame)]
            bounded = [frame for frame in frames if not (frame.preceding.is_forever or frame.following.is_forever)]
            before = max((frame.preceding.micros for frame in bounded), default=0)
            after = max((frame.following.micros for frame in bounded), default=0)
            return Window(time - before, time + after + 1)
    return None


def told_of(spec: StreamSpec) -> str:
    """What the bar of a row that leaves means."""
    match spec:
        case RecentSpec():
            return "row that left, and its step; the bar is where it is shown"
        case UniqueSpec(keep=Keep.FIRST):
            return "row that left, and its step; in its bar others of its id repeat it"
        case OverSpec() if spec.mode is not EmissionMode.ON_CLOSE:
            return "row that left, and its step; the bar is its frame"
        case FillSpec():
            return "window, and the step it left in"
        case WindowedOverSpec():
            return "rows of the window, in their order, by the steps they came in"
    return "rows left in this step, in this order, by the steps they came in"
