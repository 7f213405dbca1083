"""What the marks of a picture mean: only those that are in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from fanlight.model.firing import Timing
from fanlight.model.spec import WindowSpec
from fanlight.model.top import TopSpec
from fanlight.viz.marks import draw_cross, draw_firing, draw_record
from fanlight.viz.played import Fate, Played, PlayedArrival
from fanlight.viz.progress import has_watermark
from fanlight.viz.reach import told_of
from fanlight.viz.style import SMALL, width_of
from fanlight.viz.svg import Canvas, number

_LINE = 22.0
_SYMBOL = 26.0
_BETWEEN = 20.0

Symbol = Callable[[Canvas, float, float], None]


class Legend:
    """The entries, in as many lines as they need."""

    def __init__(self, meanings: Iterable[tuple[Symbol, str]], left: float, right: float) -> None:
        """The legend of a picture in which these symbols mean this."""
        self._entries: list[tuple[float, int, Symbol, str]] = []
        x, line = left, 0
        for text, symbol in {text: symbol for symbol, text in meanings}.items():
            width = _SYMBOL + width_of(text, SMALL)
            if x > left and x + width > right:
                x, line = left, line + 1
            self._entries.append((x, line, symbol, text))
            x += width + _BETWEEN
        self.height = _LINE * (line + 1)

    def draw(self, canvas: Canvas, top: float) -> None:
        """Draw it, the first line at `top`."""
        for x, line, symbol, text in self._entries:
            y = top + (line + 0.5) * _LINE
            symbol(canvas, x + 10, y)
            canvas.draw("text", text, class_="small", x=x + _SYMBOL, y=y + 4)


def meanings_of(played: Played) -> list[tuple[Symbol, str]]:
    """What is in the picture of a run, and what it means."""
    fates = {arrival.fate for arrival in played.arrivals}
    firings = [firing for pane in played.panes for firing in pane.firings]
    found: list[tuple[Symbol, str]] = []
    if Fate.ACCEPTED in fates:
        found.append((_record(Fate.ACCEPTED), "record, and the step it came in"))
    if Fate.LATE in fates:
        found.append((_record(Fate.LATE), "late record"))
    if Fate.DUPLICATE in fates:
        found.append((_record(Fate.DUPLICATE), "duplicate"))
    if Fate.DEAD in fates:
        found.append((lambda canvas, x, y: draw_cross(canvas, x, y, 5), "dead letter, and the reason"))
    timings = sorted({firing.timing for firing in firings})
    fires = isinstance(played.spec, WindowSpec | TopSpec)
    told = {timing: f"{timing.name} firing, and its step" if fires else told_of(played.spec) for timing in timings}
    found += [(_firing(timing), text) for timing, text in told.items()]
    if any(firing.is_taken_back for firing in firings):
        found.append((_taken_back, "taken back later"))
    if fires and any(pane.is_taken_back for pane in played.panes):
        found.append((_replaced, "window that another replaced"))
    if any(pane.is_filled for pane in played.panes):
        found.append((_replaced, "window in which nothing came"))
    if has_watermark(played):
        found.append((_watermark, "watermark, step by step"))
    return found


def _record(fate: Fate) -> Symbol:
    return lambda canvas, x, y: draw_record(canvas, PlayedArrival(1, (), 0, {}, fate), x, y)


def _firing(timing: Timing) -> Symbol:
    return lambda canvas, x, y: draw_firing(canvas, timing, x, y)


def _taken_back(canvas: Canvas, x: float, y: float) -> None:
    canvas.draw("text", "n=1", class_="small faint gone middle", x=x, y=y + 4)


def _replaced(canvas: Canvas, x: float, y: float) -> None:
    canvas.draw("rect", class_="replaced bar", x=x - 9, y=y - 6, width=18.0, height=12.0)


def _watermark(canvas: Canvas, x: float, y: float) -> None:
    left, right = number(x - 9), number(x + 9)
    canvas.draw("path", class_="watermark", d=f"M{left} {number(y - 4)}H{number(x)}V{number(y + 4)}H{right}")
