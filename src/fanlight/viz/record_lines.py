"""The records of a lane where their times are, on as many lines as they need, so that none covers another."""

from __future__ import annotations

from collections.abc import Sequence

from fanlight.viz.axis import Axis
from fanlight.viz.marks import ROUND, draw_record, record_width
from fanlight.viz.packing import packed
from fanlight.viz.played import Fate, PlayedArrival
from fanlight.viz.svg import Canvas
from fanlight.viz.words import in_full

_LINE = 26.0


class RecordLines:
    """Records, laid out; those without a time stand at the left, each on a line of its own."""

    def __init__(
        self, arrivals: Sequence[PlayedArrival], axis: Axis, corner: float = ROUND, *, upward: bool = False
    ) -> None:
        """`corner` is how round the marks are; `upward` puts those that give way above the others, not below."""
        self._axis = axis
        self._corner = corner
        placed = _in_order(arrivals)
        self._nowhere = [arrival for arrival in arrivals if arrival.time is None]
        self._records = [_PlacedRecord(arrivals[at], axis) for at in placed]
        lines = packed(((record.left, record.right) for record in self._records), gap=3)
        last = max(lines, default=0)
        self._lines = [last - line for line in lines] if upward else lines
        self._height = max(max(self._lines, default=0) + 1, 1 + len(self._nowhere)) * _LINE
        self.at: dict[int, tuple[float, float]] = {
            at: (record.x, (line + 0.5) * _LINE)
            for at, record, line in zip(placed, self._records, self._lines, strict=True)
        }
        """Of each record that has a time, by its number: how far from the left, and how far below the first line."""

    @property
    def height(self) -> float:
        """How much room the lines take."""
        return self._height

    def draw(self, canvas: Canvas, left: float, top: float) -> None:
        """Draw them, the first line at `top`; what has no time stands at `left`."""
        first = top + _LINE / 2
        for line, arrival in enumerate(self._nowhere, start=1):
            with canvas.group(_tooltip(arrival, self._axis)):
                draw_record(canvas, arrival, left + 6, first + line * _LINE)
        for record, line in zip(self._records, self._lines, strict=True):
            with canvas.group(_tooltip(record.arrival, self._axis)):
                y = first + line * _LINE
                draw_record(canvas, record.arrival, record.x, y, text_left=record.is_flipped, corner=self._corner)


class _PlacedRecord:
    """A record at its place; what would stick out at the right has its text at the left."""

    def __init__(self, arrival: PlayedArrival, axis: Axis) -> None:
        self.arrival = arrival
        assert arrival.time is not None
        self.x = axis.x(arrival.time)
        before, after = record_width(arrival)
        self.is_flipped = self.x + after > axis.right and arrival.fate is Fate.DEAD
        if self.is_flipped:
            before, after = after, before
        self.left, self.right = self.x - before, self.x + after


def _in_order(arrivals: Sequence[PlayedArrival]) -> list[int]:
    """The records that have a time, by it. Dead letters come last: they are wide, and give way to what counts."""
    places = [(one.fate is Fate.DEAD, one.time, at) for at, one in enumerate(arrivals) if one.time is not None]
    return [at for *_, at in sorted(places)]


def _tooltip(arrival: PlayedArrival, axis: Axis) -> str:
    at = "no time" if arrival.time is None else axis.text(arrival.time)
    fate = arrival.fate.value if arrival.reason is None else f"{arrival.fate.value}: {arrival.reason}"
    return f"record at {at}, came in step {arrival.step_name}, {fate}\n{in_full(arrival.row)}"
