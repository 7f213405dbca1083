"""The windows of a lane: a bar over each interval, and beside or inside it what fired, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.viz.axis import Axis
from fanlight.viz.marks import MARK, class_of, draw_firing
from fanlight.viz.packing import packed
from fanlight.viz.played import PlayedFiring, PlayedPane
from fanlight.viz.style import SMALL, width_of
from fanlight.viz.svg import Canvas, number
from fanlight.viz.words import in_full, labelled

_HEIGHT = 22.0
_LINE = 26.0
_PAD = 8.0
_BETWEEN = 14.0  # two firings
_CHEVRON = 6.0
_SHORTEST = 3.0  # a window too short to be seen is seen


@dataclass(frozen=True, slots=True)
class _Bar:
    """A pane on its way to its place: the bar, its text, and how much room both take."""

    pane: PlayedPane
    left: float
    right: float
    shown: tuple[PlayedFiring | None, ...]  # None: some are left out here
    text: float
    is_below: bool

    @property
    def extent(self) -> tuple[float, float]:
        ends = self.text + _width(self.shown)
        return (
            self.text - _PAD if self.text < self.left else self.left,
            ends + _PAD if ends > self.right else self.right,
        )


class Bars:
    """The bars of one lane, laid out so that none covers another."""

    def __init__(self, panes: list[PlayedPane], axis: Axis) -> None:
        self._axis = axis
        self._bars = [_laid(pane, axis) for pane in panes]
        self._rows = packed((bar.extent for bar in self._bars), gap=0)
        count = max(self._rows, default=-1) + 1
        tall = {row for bar, row in zip(self._bars, self._rows, strict=True) if bar.is_below}
        self._tops = [0.0]
        for row in range(count):
            self._tops.append(self._tops[-1] + _LINE * (2 if row in tall else 1))

    @property
    def height(self) -> float:
        """How much room the lane must give."""
        return self._tops[-1]

    def draw(self, canvas: Canvas, top: float) -> None:
        """Draw them all, the first row at `top`."""
        for bar, row in zip(self._bars, self._rows, strict=True):
            with canvas.group(_tooltip(bar.pane, self._axis)):
                _draw_bar(canvas, bar, top + self._tops[row])


def _laid(pane: PlayedPane, axis: Axis) -> _Bar:
    """Inside the bar if the text fits; else to the right, to the left, or on a line of its own."""
    left = axis.left if pane.window.start == START_OF_TIME else axis.x(pane.window.start)
    right = axis.right if pane.window.end == END_OF_TIME else axis.x(pane.window.end)
    shown = _fitting(pane.firings, axis.right - axis.left)
    width = _width(shown)
    air = _PAD + (_CHEVRON if pane.window.start == START_OF_TIME else 0)
    if width + air + _PAD / 2 <= right - left:
        return _Bar(pane, left, right, shown, left + air, is_below=False)
    if right + _PAD + width <= axis.right:
        return _Bar(pane, left, right, shown, right + _PAD, is_below=False)
    if left - _PAD - width >= axis.left:
        return _Bar(pane, left, right, shown, left - _PAD - width, is_below=False)
    return _Bar(pane, left, right, shown, max(axis.left, min(left, axis.right - width)), is_below=True)


def _fitting(firings: list[PlayedFiring], room: float) -> tuple[PlayedFiring | None, ...]:
    """All firings, or where there are too many the first ones and the last."""
    shown: tuple[PlayedFiring | None, ...] = tuple(firings)
    kept = len(firings) - 2
    while _width(shown) > room and kept >= 0:
        shown = (*firings[:kept], None, firings[-1])
        kept -= 1
    return shown


def _parts(firing: PlayedFiring | None) -> Iterator[float]:
    """The widths of mark, step and values, with the air after each."""
    if firing is None:
        yield width_of("…")
        return
    yield MARK + 4
    yield width_of(firing.step_name, SMALL) + 5
    yield width_of(labelled(firing.values))


def _width(shown: tuple[PlayedFiring | None, ...]) -> float:
    return sum(sum(_parts(firing)) for firing in shown) + _BETWEEN * (len(shown) - 1)


def _draw_bar(canvas: Canvas, bar: _Bar, top: float) -> None:
    last = bar.pane.firings[-1]
    is_empty = bar.pane.is_taken_back or bar.pane.is_filled
    class_ = "replaced bar" if is_empty else f"{class_of(last.timing)} bar"
    canvas.draw("path", class_=class_, d=_outline(bar, top))
    x, middle = bar.text, top + _HEIGHT / 2 + (_LINE if bar.is_below else 0)
    for firing in bar.shown:
        parts = list(_parts(firing))
        if firing is None:
            canvas.draw("text", "…", x=x, y=middle + 4)
        else:
            draw_firing(canvas, firing.timing, x + MARK / 2, middle)
            canvas.draw("text", firing.step_name, class_="small faint", x=x + parts[0], y=middle + 4)
            weight = "last" if firing is last else "faint"
            class_ = f"{weight} gone" if firing.is_taken_back else weight
            if firing.values:
                canvas.draw("text", labelled(firing.values), class_=class_, x=x + parts[0] + parts[1], y=middle + 4)
        x += sum(parts) + _BETWEEN


def _outline(bar: _Bar, top: float) -> str:
    """A box; an end that is the end of time is an arrow."""
    bottom, middle = top + _HEIGHT, top + _HEIGHT / 2
    left, right = bar.left + 1, bar.right - 1  # so that neighbours do not touch
    if right - left < _SHORTEST:
        left, right = bar.left, bar.left + _SHORTEST
    points = [(left, top), (right, top), (right, bottom), (left, bottom)]
    if bar.pane.window.end == END_OF_TIME:
        points[1:3] = [(right - _CHEVRON, top), (right, middle), (right - _CHEVRON, bottom)]
    if bar.pane.window.start == START_OF_TIME:
        points[0] = (left + _CHEVRON, top)
        points[-1:] = [(left + _CHEVRON, bottom), (left, middle)]
    return "M" + "L".join(f"{number(x)} {number(y)}" for x, y in points) + "Z"


def _tooltip(pane: PlayedPane, axis: Axis) -> str:
    between = f"[{axis.text(pane.window.start)}, {axis.text(pane.window.end)})"
    if not pane.is_window:
        (left,) = pane.firings
        return f"step {left.step_name}: the rows of {between} left, by the steps they came in\n{in_full(left.values)}"
    lines = [f"{pane.called} {between}"]
    for firing in pane.firings:
        taken_back = ", taken back later" if firing.is_taken_back else ""
        lines.append(f"step {firing.step_name}: {firing.timing.name} {in_full(firing.values)}{taken_back}")
    return "\n".join(lines)
