"""The plan of a pipeline as a picture: a box for each source and stage, and lines along which records go.

[ o: a list ]   [ p: a list ]
       └──────┬────────┘  one exchange to 8 shards by key
       [ left join … ]
              │
       [ stage 2 …   ]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap

from fanlight.display.plan_parts import (
    KEEPS,
    WATERMARK,
    facts,
    has_box,
    in_order,
    input_facts,
    input_title,
    stage_title,
)
from fanlight.explain import Lines, ToldInput, ToldStage
from fanlight.viz.marks import draw_polygon
from fanlight.viz.style import STYLE, width_of
from fanlight.viz.svg import Canvas, number

_MARGIN, _PAD, _GAP = 20.0, 12.0, 24.0
_LINE, _HEAD = 17.0, 26.0
_WAY = 44.0
_ARROW = 6.0
_WIDEST, _NARROW = 920.0, 440.0
_CLASSES = {KEEPS: "last", WATERMARK: "reached"}


def plan_svg(stage: ToldStage) -> str:
    """The pipeline that ends with this stage, as an SVG document.

    >>> import fanlight as fl
    >>> rows = fl.stream([{"ts": 1}], time="ts", unit="s", delay="5 s").sort()
    >>> picture = rows.explain("svg")
    >>> picture.startswith("<svg") and ">5 s behind the greatest time seen<" in picture
    True
    """
    numbers = {id(one): place for place, one in enumerate(stage.chain, start=1)}
    columns = _columns(stage)
    column = _WIDEST if columns == 1 else _NARROW
    width = columns * (column + _GAP) - _GAP
    canvas, tree = Canvas(), _stage_tree(stage, numbers, width, column)
    full = width + 2 * _MARGIN
    canvas.draw("rect", class_="ground", x=0.0, y=0.0, width=full, height=tree.depth + 2 * _MARGIN, rx=6.0)
    _draw(canvas, tree, _MARGIN, _MARGIN)
    title = f"Plan: {stage_title(len(numbers), len(numbers), stage)}"
    return canvas.document(full, tree.depth + 2 * _MARGIN, title, stage.text, STYLE)


@dataclass(frozen=True, slots=True)
class _Tree:
    """A box, with what brings records to it above."""

    title: str
    lines: tuple[tuple[str, str, str], ...]
    """Word, text and class; a line that goes on has no word."""
    is_stage: bool
    width: float
    """Of all that is above it, too."""
    box: float
    """How wide the box itself is."""
    above: tuple[_Tree, ...] = ()
    """The boxes before it."""
    exchange: str = ""
    """How records travel from there."""

    @property
    def height(self) -> float:
        """Of the box."""
        return _HEAD + _LINE * len(self.lines) + _PAD

    @property
    def raised(self) -> float:
        """How much room is needed above the box."""
        return max((tree.depth for tree in self.above), default=-_WAY) + _WAY

    @property
    def depth(self) -> float:
        """Of the whole."""
        return self.raised + self.height


def _columns(stage: ToldStage) -> int:
    """How many boxes stand side by side at most."""
    return sum(1 if one.before is None else _columns(one.before) for one in stage.inputs)


def _stage_tree(stage: ToldStage, numbers: Mapping[int, int], width: float, column: float) -> _Tree:
    """The stage and all before it, so wide; what is alone in a column is as wide as that."""
    box = min(width, _WIDEST)
    above = []
    for one in in_order(stage):
        columns = 1 if one.before is None else _columns(one.before)
        share = columns * (column + _GAP) - _GAP
        above.append(_input_tree(one, numbers, share, column))
    title = stage_title(numbers[id(stage)], len(numbers), stage)
    return _Tree(title, _wrapped(facts(stage), box), True, width, box, tuple(above), stage.exchange)


def _input_tree(one: ToldInput, numbers: Mapping[int, int], width: float, column: float) -> _Tree:
    before = None if one.before is None else _stage_tree(one.before, numbers, width, column)
    if before is not None and not has_box(one):
        return before
    box = min(width, _WIDEST)
    return _Tree(
        input_title(one), _wrapped(input_facts(one), box), False, width, box, () if before is None else (before,)
    )


def _wrapped(lines: Lines, box: float) -> tuple[tuple[str, str, str], ...]:
    """Lines that fit into a box."""
    letters = int((box - 2 * _PAD) / width_of("0")) - _word_letters(lines)
    found = []
    for word, text in lines:
        first, *others = wrap(text, max(letters, 12)) or [""]
        class_ = _CLASSES.get(word, "")
        found += [(word, first, class_), *(("", other, class_) for other in others)]
    return tuple(found)


def _word_letters(lines: Lines) -> int:
    return max(len(word) for word, _ in lines) + 2


def _draw(canvas: Canvas, tree: _Tree, left: float, top: float) -> None:
    """Draw a tree whose place begins at `left`; its box is in the middle, at the bottom."""
    middle, box_top = left + tree.width / 2, top + tree.raised
    x = left + (tree.width - sum(one.width for one in tree.above) - _GAP * (len(tree.above) - 1)) / 2
    starts = []
    for above in tree.above:
        _draw(canvas, above, x, top + tree.raised - _WAY - above.depth)
        starts.append(x + above.width / 2)
        x += above.width + _GAP
    if starts:
        _draw_ways(canvas, starts, middle, box_top)
        if tree.exchange:
            canvas.draw("text", tree.exchange, class_="small", x=middle + 12, y=box_top - 8)
    _draw_box(canvas, tree, middle - tree.box / 2, box_top)


def _draw_ways(canvas: Canvas, starts: list[float], middle: float, below: float) -> None:
    """Lines from the boxes above to the one below."""
    bend = below - _WAY / 2 - 4
    for x in starts:
        path = f"M{number(x)} {number(below - _WAY)}V{number(bend)}H{number(middle)}V{number(below - 1)}"
        canvas.draw("path", class_="axis", fill="none", d=path)
    tip, wide = below - _ARROW - 2, _ARROW
    draw_polygon(canvas, "record", (middle, below), (middle - wide, tip), (middle + wide, tip))


def _draw_box(canvas: Canvas, tree: _Tree, left: float, top: float) -> None:
    class_ = "on_time bar" if tree.is_stage else "replaced"
    shape = {"x": left, "y": top, "width": tree.box, "height": tree.height, "rx": 5.0}
    with canvas.group():
        if tree.is_stage:
            canvas.draw("rect", class_="band", **shape)
        canvas.draw("rect", class_=class_, **shape, **({"fill_opacity": 0.25} if tree.is_stage else {}))
        canvas.draw("text", tree.title, class_="key", x=left + _PAD, y=top + 19)
        indent = width_of("0" * _word_letters([(word, text) for word, text, _ in tree.lines]))
        for place, (word, text, class_) in enumerate(tree.lines):
            y = top + _HEAD + _LINE * (place + 0.75)
            if word:
                canvas.draw("text", word, class_="faint", x=left + _PAD, y=y)
            canvas.draw("text", text, **({"class_": class_} if class_ else {}), x=left + _PAD + indent, y=y)
