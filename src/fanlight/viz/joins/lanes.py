"""A lane of a key in the picture of a join.

o   (1)      (3)         left records, and below each where its matches may be
    └──────┤ └──────┤
       [2]    [4 null]   joined rows, tied to their records
p        [2]             right records
"""

from __future__ import annotations

from fanlight.model.windows.window import Window
from fanlight.viz.axis import Axis
from fanlight.viz.joins.nodes import Nodes
from fanlight.viz.joins.played import PlayedJoin
from fanlight.viz.joins.spans import Brackets, span_of
from fanlight.viz.lanes import AIR, BEFORE_AXIS, FIRST
from fanlight.viz.marks import ROUND, SQUARE
from fanlight.viz.packing import packed
from fanlight.viz.played import Fate, Key
from fanlight.viz.record_lines import RecordLines
from fanlight.viz.style import SMALL, width_of
from fanlight.viz.svg import Canvas
from fanlight.viz.words import keyed

_INSET = 3.0
_BELOW_MARK = 9.0


class JoinLane:
    """What one key of a join shows."""

    def __init__(self, played: PlayedJoin, key: Key, axis: Axis) -> None:
        self._axis = axis
        self._name = join_key(played, key)
        sides = played.spec.left.name, played.spec.right.name
        self._sides = sides
        self._numbers = [
            [number for number, one in played.arrivals.items() if one.key == key and one.source == name]
            for name in sides
        ]
        self._records = [
            RecordLines([played.arrivals[number] for number in numbers], axis, corner, upward=corner == ROUND)
            for numbers, corner in zip(self._numbers, (ROUND, SQUARE), strict=True)
        ]
        rows = [row for row in played.rows if row.key == key]
        self._nodes = Nodes(played, rows, axis)
        self._windows = sorted({row.window for row in rows if row.window is not None}, key=lambda one: one.start)
        self._reaching = [
            (at, one.time, span)
            for at, number in enumerate(self._numbers[0])
            if (one := played.arrivals[number]).time is not None and one.fate is not Fate.DEAD
            if (span := span_of(played.spec, one.time)) is not None
        ]
        self._brackets = Brackets([(time, span) for _, time, span in self._reaching], axis)

    @property
    def height(self) -> float:
        """How much room the lane takes."""
        return sum(lines.height for lines in self._records) + self._brackets.height + self._nodes.height + 2 * AIR

    def draw(self, canvas: Canvas, left: float, top: float) -> None:
        """Draw it; names stand at `left`, those of the sides at the axis."""
        upper, lower = self._records
        first = top + AIR
        below = first + upper.height + self._brackets.height + self._nodes.height
        self._draw_windows(canvas, top)
        canvas.draw("text", self._name, class_="key", x=left, y=first + FIRST)
        for name, y in zip(self._sides, (first, below), strict=True):
            canvas.draw("text", name, class_="small faint right", x=self._axis.left - BEFORE_AXIS, y=y + FIRST)
        starts = [first + upper.at[at][1] + _BELOW_MARK for at, *_ in self._reaching]
        self._brackets.draw(canvas, first + upper.height, starts)
        marks = {
            numbers[at]: (x, y + down)
            for numbers, lines, y in zip(self._numbers, self._records, (first, below), strict=True)
            for at, (x, down) in lines.at.items()
        }
        self._nodes.draw(canvas, first + upper.height + self._brackets.height, marks)
        upper.draw(canvas, left, first)
        lower.draw(canvas, left, below)

    def _draw_windows(self, canvas: Canvas, top: float) -> None:
        """A shade over each window; of those that overlap, each begins lower than the one before."""
        axis = self._axis
        edges = [(axis.x(window.start), axis.x(window.end)) for window in self._windows]
        lines = packed(edges, gap=0)
        for window, (left, right), line in zip(self._windows, edges, lines, strict=True):
            inset = (line + 1) * _INSET
            with canvas.group(f"window {_between(window, axis)}"):
                canvas.draw(
                    "rect",
                    class_="on_time bar",
                    x=left + 1,
                    y=top + inset,
                    width=right - left - 2,
                    height=self.height - 2 * inset,
                    opacity=0.4,
                )


def join_key(played: PlayedJoin, key: Key) -> str:
    """What a lane is called."""
    return keyed(played.spec.keys, key)


def join_gutter(played: PlayedJoin) -> float:
    """How wide the names of the lanes and of the sides are, and what stands under them."""
    sides = max(width_of(side.name, SMALL) for side in (played.spec.left, played.spec.right)) + BEFORE_AXIS
    names = [width_of(join_key(played, key)) + sides for key in played.keys]
    letters = [12 + width_of(f"{a.step_name} {a.reason}", SMALL) for a in played.arrivals.values() if a.time is None]
    return max([*names, *letters, width_of("watermarks") + 28]) + 12


def _between(window: Window, axis: Axis) -> str:
    return f"[{axis.text(window.start)}, {axis.text(window.end)})"
