"""Step by step: how the watermarks of both sides of a join went on, and which records came."""

from __future__ import annotations

from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.viz.axis import Axis
from fanlight.viz.joins.played import PlayedJoin, SidesMoment
from fanlight.viz.marks import ROUND, SQUARE, draw_dot, draw_polygon
from fanlight.viz.progress import ARROW, step_height
from fanlight.viz.svg import Canvas, number

RIGHT_DASHES = "5 3"
"""How the line of the right side is broken."""
_APART = 2.5


class SidesSteps:
    """A row for each step, from the first down to the last, with the watermark of each side."""

    def __init__(self, played: PlayedJoin, axis: Axis) -> None:
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
        canvas.draw("text", "watermarks", class_="reached", x=left, y=top + self._line / 2 + 4)
        for moment in self._played.moments:
            if (moment.step - 1) % self._named_every == 0:
                name, y = "end" if moment.is_end else str(moment.step), self._y(top, moment.step)
                canvas.draw("text", name, class_="small faint right", x=self._axis.left - 8, y=y + 4)
        spec = self._played.spec
        self._draw_line(canvas, top - _APART, spec.left.name, None)
        self._draw_line(canvas, top + _APART, spec.right.name, RIGHT_DASHES)
        for arrival in self._played.arrivals.values():
            if arrival.time is not None:
                corner = ROUND if arrival.source == spec.left.name else SQUARE
                draw_dot(canvas, arrival, self._axis.x(arrival.time), self._y(top, arrival.step), corner=corner)

    def _draw_line(self, canvas: Canvas, top: float, side: str, dashes: str | None) -> None:
        known = [moment for moment in self._played.moments if moment.watermarks[side] != START_OF_TIME]
        if not known:
            return
        begins = f"M{number(self._axis.left)} {number(self._y(top, known[0].step))}"
        goes_on = [f"V{number(self._y(top, one.step))}H{number(self._x(one, side))}" for one in known]
        broken = {} if dashes is None else {"stroke_dasharray": dashes}
        canvas.draw("path", class_="watermark", d="".join([begins, *goes_on]), **broken)
        for moment in known:
            x, y = self._x(moment, side), self._y(top, moment.step)
            with canvas.group(self._told(moment, side)):
                if moment.watermarks[side] == END_OF_TIME:
                    draw_polygon(canvas, "reached", (x + 1, y), (x - ARROW, y - ARROW), (x - ARROW, y + ARROW))
                else:
                    canvas.draw("rect", class_="reached", x=x - 2, y=y - 4, width=4.0, height=8.0)

    def _x(self, moment: SidesMoment, side: str) -> float:
        reached = moment.watermarks[side]
        return self._axis.right if reached == END_OF_TIME else self._axis.x(reached)

    def _y(self, top: float, step: int) -> float:
        return top + (step - 0.5) * self._line

    def _told(self, moment: SidesMoment, side: str) -> str:
        if moment.is_end:
            return "the input ends: every row that waits leaves"
        if moment.watermarks[side] == END_OF_TIME:
            return f"in step {moment.step} {side} has ended"
        return f"after step {moment.step} the watermark of {side} is {self._axis.text(moment.watermarks[side])}"
