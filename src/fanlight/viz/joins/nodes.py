"""The joined rows of a lane: a box for each, tied to its left record above it and its right ones below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from fanlight.model.firing import Timing
from fanlight.viz.axis import Axis
from fanlight.viz.joins.played import JoinedRow, PlayedJoin
from fanlight.viz.marks import MARK, draw_firing
from fanlight.viz.packing import packed
from fanlight.viz.style import SIZE, SMALL, width_of
from fanlight.viz.svg import Canvas
from fanlight.viz.words import in_full, labelled

_HEIGHT = 20.0
_LINE = 28.0
_PAD = 6.0
_BETWEEN = 5.0
_MARK_RADIUS = 9.0

Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Node:
    """A row on its way to its place."""

    row: JoinedRow
    parts: tuple[tuple[str, str, float], ...]
    """Pieces of text, each with the class and the size of its letters."""
    left: float
    width: float

    @property
    def extent(self) -> tuple[float, float]:
        return self.left, self.left + self.width


class Nodes:
    """The joined rows of a lane, laid out so that none covers another."""

    def __init__(self, played: PlayedJoin, rows: Sequence[JoinedRow], axis: Axis) -> None:
        self._played = played
        self._axis = axis
        self._shows_windows = _overlap(rows)
        laid = (self._laid(row) for row in rows)
        self._nodes = sorted(laid, key=lambda node: node.left)
        self._lines = packed((node.extent for node in self._nodes), gap=6)

    @property
    def height(self) -> float:
        """How much room they take, with the air for the lines to them."""
        return _LINE * (max(self._lines, default=-1) + 1) + 16

    def draw(self, canvas: Canvas, top: float, marks: Mapping[int, Place]) -> None:
        """Draw them, the first line at `top`; `marks` has the places of all records by their numbers."""
        boxed = [(node, top + 8 + (line + 0.5) * _LINE) for node, line in zip(self._nodes, self._lines, strict=True)]
        for node, y in boxed:
            with canvas.group():
                self._draw_ties(canvas, node, y, marks)
        for node, y in boxed:
            with canvas.group(self._told(node.row)):
                _draw_box(canvas, node, y)

    def _laid(self, row: JoinedRow) -> _Node:
        """In the middle between its records; of a row of aggregates, below its left one."""
        parts = tuple(self._parts(row))
        width = 2 * _PAD + MARK + sum(_BETWEEN + width_of(text, size) for text, _, size in parts)
        ends = row.left, *(row.rights if not row.values or row.left is None else ())
        places = [self._x(number) for number in ends if number is not None]
        middle = sum(places) / len(places)
        left = min(max(middle - width / 2, self._axis.left), self._axis.right - width)
        return _Node(row, parts, left, width)

    def _x(self, number: int) -> float:
        time = self._played.arrivals[number].time
        assert time is not None  # a record without one joins nothing
        return self._axis.x(time)

    def _parts(self, row: JoinedRow) -> list[tuple[str, str, float]]:
        changes = self._played.spec.op is not None
        gone = " gone" if row.until is not None else ""
        found = [(f"+I {row.step}" if changes else row.step, f"small faint{gone}", SMALL)]
        if row.values:
            found.append((labelled(row.values), "last", SIZE))
        if self._is_padded(row):
            found.append(("null", f"small faint{gone}", SMALL))
        if self._shows_windows and row.window is not None:
            found.append((self._axis.text(row.window.start), "small", SMALL))
        if row.until is not None:
            found.append((f"-D {row.until}", "small dead", SMALL))
        return found

    def _is_padded(self, row: JoinedRow) -> bool:
        alone = row.left is None or not row.rights
        return alone and not row.values and not self._played.spec.how.of_left_only

    def _draw_ties(self, canvas: Canvas, node: _Node, y: float, marks: Mapping[int, Place]) -> None:
        """Lines to its records; those of a row that was taken back are broken."""
        class_ = "on_time" if node.row.until is None else "replaced"
        low, high = node.extent
        for number in (node.row.left, *node.row.rights):
            if number is None:
                continue
            x, at = marks[number]
            edge = -1.0 if number == node.row.left else 1.0
            place = min(max(x, low + _PAD), high - _PAD)
            begins, ends = at - edge * _MARK_RADIUS, y + edge * _HEIGHT / 2
            canvas.draw("line", class_=class_, x1=x, y1=begins, x2=place, y2=ends, stroke_width=1.5)

    def _told(self, row: JoinedRow) -> str:
        return told_of(row, self._played, self._axis)


def told_of(row: JoinedRow, played: PlayedJoin, axis: Axis) -> str:
    """A joined row in words."""
    spec, arrivals = played.spec, played.arrivals
    sides = [(spec.left.name, [] if row.left is None else [row.left]), (spec.right.name, row.rights)]
    records = [f"{name} of step {arrivals[number].step_name}" for name, numbers in sides for number in numbers]
    within = "" if row.window is None else f" in [{axis.text(row.window.start)}, {axis.text(row.window.end)})"
    alone = " without a match" if len(records) == 1 and not row.values and not spec.how.of_left_only else ""
    values = f", {in_full(row.values)}" if row.values else ""
    when = "left at the end" if row.step == "end" else f"left in step {row.step}"
    until = (
        "" if row.until is None else f", taken back {'at the end' if row.until == 'end' else f'in step {row.until}'}"
    )
    return f"{' with '.join(records)}{alone}{within}: {when}{values}{until}"


def _overlap(rows: Sequence[JoinedRow]) -> bool:
    """Whether rows must say of which window they are."""
    windows = sorted({(row.window.start, row.window.end) for row in rows if row.window is not None})
    return any(after[0] < before[1] for before, after in pairwise(windows))


def _draw_box(canvas: Canvas, node: _Node, y: float) -> None:
    class_ = "on_time bar" if node.row.until is None else "replaced bar"
    box = {"x": node.left, "y": y - _HEIGHT / 2, "width": node.width, "height": _HEIGHT, "rx": 4.0}
    canvas.draw("rect", class_="ground", **box)
    canvas.draw("rect", class_=class_, **box)
    x = node.left + _PAD
    draw_firing(canvas, Timing.ON_TIME, x + MARK / 2, y)
    x += MARK
    for text, class_, size in node.parts:
        canvas.draw("text", text, class_=class_, x=x + _BETWEEN, y=y + 4)
        x += _BETWEEN + width_of(text, size)
