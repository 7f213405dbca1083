"""Step by step: how the watermark went on, and which records came. What lies left of the line came behind it."""

from __future__ import annotations

from fanlight.model.recent import RecentSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.model.windows.counting import Counting, Scope
from fanlight.viz.axis import Axis
from fanlight.viz.marks import draw_dot, draw_polygon
from fanlight.viz.played import Moment, Played
from fanlight.viz.svg import Canvas, number

_LINE = 16.0
_TALLEST = 480.0
ARROW = 6.0
"""How long the arrow at the end of time is."""


class StepLines:
    """A row for each step, from the first down to the last."""

    def __init__(self, played: Played, axis: Axis) -> None:
        self._played = played
        self._axis = axis
        self._line, self._named_every = step_height(len(played.moments))

    @property
    def height(self) -> float:
        """How much room it takes."""
        return self._line * len(self._played.moments) + 8

    def draw(self, canvas: Canvas, left: float, top: float) -> None:
        """Draw it; names stand at `left`."""
        if not self._played.moments:
            return
        name, class_ = ("watermark", "reached") if has_watermark(self._played) else ("steps", "faint")
        canvas.draw("text", name, class_=class_, x=left, y=top + self._line / 2 + 4)
        for moment in self._played.moments:
            y = self._y(top, moment.step)
            if (moment.step - 1) % self._named_every == 0:
                name = "end" if moment.is_end else str(moment.step)
                canvas.draw("text", name, class_="small faint right", x=self._axis.left - 8, y=y + 4)
        if has_watermark(self._played):
            self._draw_line(canvas, top)
        for arrival in self._played.arrivals:
            if arrival.time is not None:
                draw_dot(canvas, arrival, self._axis.x(arrival.time), self._y(top, arrival.step))

    def _draw_line(self, canvas: Canvas, top: float) -> None:
        known = [moment for moment in self._played.moments if moment.watermark != START_OF_TIME]
        if not known:
            return
        begins = f"M{number(self._axis.left)} {number(self._y(top, known[0].step))}"
        goes_on = [f"V{number(self._y(top, moment.step))}H{number(self._x(moment))}" for moment in known]
        canvas.draw("path", class_="watermark", d="".join([begins, *goes_on]))
        for moment in known:
            x, y = self._x(moment), self._y(top, moment.step)
            with canvas.group(self._tooltip(moment)):
                if moment.is_end:
                    back = x - ARROW
                    draw_polygon(canvas, "reached", (x + 1, y), (back, y - ARROW), (back, y + ARROW))
                else:
                    canvas.draw("rect", class_="reached", x=x - 2, y=y - 5, width=4.0, height=10.0)

    def _x(self, moment: Moment) -> float:
        return self._axis.right if moment.is_end else self._axis.x(moment.watermark)

    def _y(self, top: float, step: int) -> float:
        return top + (step - 0.5) * self._line

    def _tooltip(self, moment: Moment) -> str:
        if moment.is_end:
            if isinstance(self._played.spec, RecentSpec):
                return "the input ends: what is shown stays"
            has_windows = isinstance(self._played.spec, WindowSpec)
            return f"the input ends: every {'window closes' if has_windows else 'row that waits leaves'}"
        return f"after step {moment.step} the watermark is {self._axis.text(moment.watermark)}"


def step_height(steps: int) -> tuple[float, float]:
    """How high the row of each step is, and every how many of them have room for a name."""
    line = min(_LINE, _TALLEST / max(steps, 1))
    return line, -(-_LINE // line)


def has_watermark(played: Played) -> bool:
    """Whether one watermark is for all; where each key counts its own records, each has its own end."""
    kind = played.spec.window if isinstance(played.spec, WindowSpec) else None
    return bool(played.moments) and not (isinstance(kind, Counting) and kind.per is Scope.KEY)
