"""One lane for each key: its records where their times are, and below them its windows."""

from __future__ import annotations

from fanlight.viz.axis import Axis
from fanlight.viz.bars import Bars
from fanlight.viz.played import Key, Played
from fanlight.viz.record_lines import RecordLines
from fanlight.viz.style import SMALL, width_of
from fanlight.viz.svg import Canvas
from fanlight.viz.words import keyed

AIR = 8.0
"""What is left free above and below in a lane."""
BEFORE_AXIS = 16.0
"""How far before the axis the name of an input or a side ends; a mark may stand at its start."""
FIRST = 17.0
"""How far below the top of a lane, but for the air, its name stands."""


class Lane:
    """What one key shows; the records of each input of a cogroup have lines of their own."""

    def __init__(self, played: Played, key: Key, axis: Axis) -> None:
        self._axis = axis
        self._name = keyed(played.spec.keys, key)
        mine = [arrival for arrival in played.arrivals if arrival.key == key]
        self._inputs = [
            (name, RecordLines([arrival for arrival in mine if arrival.source == name], axis))
            for name in played.inputs or (None,)
        ]
        self._bars = Bars([pane for pane in played.panes if pane.key == key], axis)

    @property
    def height(self) -> float:
        """How much room the lane takes."""
        return self._records_height + self._bars.height + 2 * AIR + 2

    @property
    def _records_height(self) -> float:
        return sum(lines.height for _, lines in self._inputs)

    def draw(self, canvas: Canvas, left: float, top: float) -> None:
        """Draw it; names stand at `left`, those of inputs at the axis."""
        canvas.draw("text", self._name, class_="key", x=left, y=top + AIR + FIRST)
        y = top + AIR
        for name, lines in self._inputs:
            if name is not None:
                canvas.draw("text", name, class_="small faint right", x=self._axis.left - BEFORE_AXIS, y=y + FIRST)
            lines.draw(canvas, left, y)
            y += lines.height
        self._bars.draw(canvas, top + AIR + self._records_height + 2)


def gutter(played: Played) -> float:
    """How wide the names of the lanes are, and what stands under them."""
    inputs = max((width_of(name, SMALL) + BEFORE_AXIS for name in played.inputs), default=0.0)
    names = [width_of(keyed(played.spec.keys, key)) + inputs for key in played.keys]
    letters = [12 + width_of(f"{a.step_name} {a.reason}", SMALL) for a in played.arrivals if a.time is None]
    return max([*names, *letters, width_of("watermark") + 28]) + 12
