"""One run in a picture, at any height of it: its lanes, the axis under them, and the watermark step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from fanlight.model.time.timestamp import Timestamp
from fanlight.viz.axis import Axis, Tick
from fanlight.viz.lanes import Lane
from fanlight.viz.played import Fate, Played, PlayedArrival
from fanlight.viz.progress import StepLines
from fanlight.viz.style import SMALL, width_of
from fanlight.viz.svg import Canvas
from fanlight.viz.words import described, in_full, keyed

WIDTH = 960.0
"""How wide a picture is."""
MARGIN = 20.0
"""What is left free at both sides."""

_AXIS = 44.0


class PanelPart(Protocol):
    """What stands in a panel: the lane of a key, or the steps."""

    @property
    def height(self) -> float:
        """How much room it takes."""

    def draw(self, canvas: Canvas, left: float, top: float) -> None:
        """Draw it; names stand at `left`."""


class Panel:
    """The lanes, the axis and the steps of one run."""

    def __init__(self, lanes: Sequence[PanelPart], steps: PanelPart, axis: Axis, told: str) -> None:
        """`told` is the run for who cannot see the picture."""
        self._lanes = lanes
        self._steps = steps
        self._axis = axis
        self._lanes_height = sum(lane.height for lane in lanes)
        self.told = told

    @property
    def height(self) -> float:
        """How much room it takes."""
        return self._lanes_height + _AXIS + self._steps.height

    def draw(self, canvas: Canvas, top: float) -> None:
        """Draw it, the first lane at `top`."""
        left, right, floor = MARGIN, WIDTH - MARGIN, top + self._lanes_height
        y = top
        for place, lane in enumerate(self._lanes):
            if place % 2 == 0:
                canvas.draw("rect", class_="band", x=left - 8, y=y, width=right - left + 16, height=lane.height, rx=4.0)
            y += lane.height
        self._draw_grid(canvas, self._axis.ticks(width_of("0", SMALL)), top, floor)
        y = top
        for lane in self._lanes:
            lane.draw(canvas, left, y)
            y += lane.height
        self._steps.draw(canvas, left, floor + _AXIS)

    def _draw_grid(self, canvas: Canvas, ticks: list[Tick], top: float, floor: float) -> None:
        axis, below = self._axis, floor + _AXIS
        for tick in ticks:
            x = axis.x(tick.time)
            canvas.draw("line", class_="grid", x1=x, y1=top, x2=x, y2=floor)
            canvas.draw("line", class_="grid", x1=x, y1=below, x2=x, y2=below + self._steps.height)
            canvas.draw("line", class_="axis", x1=x, y1=floor, x2=x, y2=floor + 5)
            at_most = WIDTH - 4 - width_of(tick.text, SMALL) / 2
            canvas.draw("text", tick.text, class_="small middle", x=min(x, at_most), y=floor + 18)
        canvas.draw("line", class_="axis", x1=axis.left, y1=floor, x2=axis.right, y2=floor)
        canvas.draw("text", axis.caption, class_="small faint right", x=axis.right, y=floor + 34)


def panel_of(played: Played, axis: Axis) -> Panel:
    """The panel of a run."""
    return Panel([Lane(played, key, axis) for key in played.keys], StepLines(played, axis), axis, _told(played, axis))


def _told(played: Played, axis: Axis) -> str:
    said = [f"{described(played.spec)}. {len(played.arrivals)} records in {len(played.moments)} steps."]
    for key in played.keys:
        name = keyed(played.spec.keys, key)
        for pane in played.panes:
            if pane.key == key:
                last = pane.firings[-1]
                ending = ", taken back" if pane.is_taken_back else ""
                window = f"[{axis.text(pane.window.start)}, {axis.text(pane.window.end)})"
                left = "left at the end," if last.is_at_end else f"left in step {last.step},"
                how = last.timing.name if pane.is_window else left
                said.append(f"{name} {window}: {how} {in_full(last.values)}{ending}.")
    return " ".join([*said, *letters_told(played.arrivals)])


def letters_told(arrivals: Sequence[PlayedArrival]) -> list[str]:
    """The dead letters among these records, as a sentence; none, if there are none."""
    dead = [letter for letter in arrivals if letter.fate is Fate.DEAD]
    of_whom = ["" if letter.source is None else f"{letter.source} of " for letter in dead]
    said = [f"{of}step {one.step_name} ({one.reason})" for of, one in zip(of_whom, dead, strict=True)]
    return [f"Dead letters: {', '.join(said)}."] if dead else []


def times_of(played: Played) -> list[Timestamp]:
    """Every time the axis must reach. A watermark far from all records and windows lies at its end."""
    windows = [bound for pane in played.panes for bound in (pane.window.start, pane.window.end)]
    return [*(arrival.time for arrival in played.arrivals if arrival.time is not None), *windows]
