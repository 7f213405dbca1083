"""One lane for each key: its records where their times are, and below them its windows."""

from __future__ import annotations

from fanlight.viz.axis import Axis
from fanlight.viz.bars import Bars
from fanlight.viz.marks import draw_record, record_width
from fanlight.viz.packing import packed
from fanlight.viz.played import Fate, Key, Played, PlayedArrival
from fanlight.viz.style import SMALL, width_of
from fanlight.viz.svg import Canvas
from fanlight.viz.words import in_full, keyed

_RECORD_LINE = 26.0
_AIR = 8.0


class Lane:
    """What one key shows."""

    def __init__(self, played: Played, key: Key, axis: Axis) -> None:
        self._axis = axis
        self._name = keyed(played.spec.keys, key)
        mine = [arrival for arrival in played.arrivals if arrival.key == key]
        self._placed = sorted((arrival for arrival in mine if arrival.time is not None), key=_by_fate_and_time)
        self._nowhere = [arrival for arrival in mine if arrival.time is None]
        self._records = [_Record(arrival, axis) for arrival in self._placed]
        self._rows = packed(((record.left, record.right) for record in self._records), gap=3)
        self._bars = Bars([pane for pane in played.panes if pane.key == key], axis)

    @property
    def height(self) -> float:
        """How much room the lane takes."""
        return self._records_height + self._bars.height + 2 * _AIR + 2

    @property
    def _records_height(self) -> float:
        lines = max(max(self._rows, default=0) + 1, 1 + len(self._nowhere))
        return lines * _RECORD_LINE

    def draw(self, canvas: Canvas, left: float, top: float) -> None:
        """Draw it; names stand at `left`."""
        first = top + _AIR + _RECORD_LINE / 2
        canvas.draw("text", self._name, class_="key", x=left, y=first + 4)
        for line, arrival in enumerate(self._nowhere, start=1):
            with canvas.group(_tooltip(arrival, self._axis)):
                draw_record(canvas, arrival, left + 6, first + line * _RECORD_LINE)
        for record, row in zip(self._records, self._rows, strict=True):
            with canvas.group(_tooltip(record.arrival, self._axis)):
                y = first + row * _RECORD_LINE
                draw_record(canvas, record.arrival, record.x, y, text_left=record.is_flipped)
        self._bars.draw(canvas, top + _AIR + self._records_height + 2)


class _Record:
    """A record at its place; what would stick out at the right has its text at the left."""

    def __init__(self, arrival: PlayedArrival, axis: Axis) -> None:
        self.arrival = arrival
        self.x = axis.x(_time(arrival))
        before, after = record_width(arrival)
        self.is_flipped = self.x + after > axis.right and arrival.fate is Fate.DEAD
        if self.is_flipped:
            before, after = after, before
        self.left, self.right = self.x - before, self.x + after


def gutter(played: Played) -> float:
    """How wide the names of the lanes are, and what stands under them."""
    names = [width_of(keyed(played.spec.keys, key)) for key in played.keys]
    letters = [12 + width_of(f"{a.step_name} {a.reason}", SMALL) for a in played.arrivals if a.time is None]
    return max([*names, *letters, width_of("watermark") + 28]) + 12


def _by_fate_and_time(arrival: PlayedArrival) -> tuple[bool, int]:
    """Dead letters come last: they are wide, and give way to what counts."""
    return arrival.fate is Fate.DEAD, _time(arrival)


def _time(arrival: PlayedArrival) -> int:
    assert arrival.time is not None
    return arrival.time


def _tooltip(arrival: PlayedArrival, axis: Axis) -> str:
    at = "no time" if arrival.time is None else axis.text(arrival.time)
    fate = arrival.fate.value if arrival.reason is None else f"{arrival.fate.value}: {arrival.reason}"
    return f"record at {at}, came in step {arrival.step_name}, {fate}\n{in_full(arrival.row)}"
