"""A picture of a pipeline at work: records in, windows and firings out, over the time axis.

    title, and what the pipeline asks for
    a lane for each key      records at their times, windows as bars, in them what fired
    the axis
    the watermark            a row for each step
    what the marks mean

Nothing is drawn by hand: the records run through the embedded engine, and the picture shows what it gave.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import pyarrow as pa

from fanlight.embedded.sources import Records
from fanlight.model.spec import WindowSpec
from fanlight.viz.axis import Axis, Tick, axis_over
from fanlight.viz.lanes import Lane, gutter
from fanlight.viz.legend import Legend
from fanlight.viz.played import Fate, Played, Step, play
from fanlight.viz.progress import Progress
from fanlight.viz.style import SMALL, STYLE, width_of
from fanlight.viz.svg import Canvas
from fanlight.viz.words import described, in_full, keyed

_WIDTH = 960.0
_MARGIN = 20.0
_HEAD = 74.0
_AXIS = 44.0


class Pipeline(Protocol):
    """What knows its spec, such as the result of `agg`."""

    @property
    def spec(self) -> WindowSpec: ...


def timeline(
    pipeline: Pipeline | WindowSpec,
    steps: Iterable[Step | Records],
    *,
    title: str | None = None,
    clock: str | None = None,
    schema: pa.Schema | None = None,
    ends: bool = True,
) -> str:
    """An SVG document that shows what the engine makes of `steps`; the same input gives the same bytes.

    A step is a bundle of records (one dict is a bundle of one), or a `Step` that moves the watermark or the clock as
    well. `clock` names a column of arrival times, as in `stream`. After the last step the input ends, unless `ends` is
    false.

    >>> import fanlight as fl
    >>> orders = [{"ts": 5, "price": 3}, {"ts": 42, "price": 4}, {"ts": 61, "price": 1}]
    >>> totals = fl.stream(orders, time="ts", unit="s").window(fl.tumbling("1 minute")).agg(total=fl.sum("price"))
    >>> picture = timeline(totals, orders, title="Two minutes")
    >>> picture.startswith("<svg") and "total=7" in picture
    True
    """
    spec = pipeline if isinstance(pipeline, WindowSpec) else pipeline.spec
    played = play(spec, steps, clock=clock, schema=schema, ends=ends)
    return drawn(played, title or described(spec))


def drawn(played: Played, title: str) -> str:
    """The picture of a run."""
    left, right = _MARGIN, _WIDTH - _MARGIN
    axis = axis_over(played.spec, _times(played), left + gutter(played), right)
    ticks = axis.ticks(width_of("0", SMALL))
    lanes = [Lane(played, key, axis) for key in played.keys]
    progress, legend = Progress(played, axis), Legend(played, left, right)
    canvas = Canvas()
    floor = _HEAD + sum(lane.height for lane in lanes)
    height = floor + _AXIS + progress.height + 8 + legend.height + 12
    canvas.draw("rect", class_="ground", x=0.0, y=0.0, width=_WIDTH, height=height, rx=6.0)
    canvas.draw("text", title, class_="title", x=left, y=34.0)
    canvas.draw("text", described(played.spec), class_="faint", x=left, y=56.0)
    top = _HEAD
    for place, lane in enumerate(lanes):
        if place % 2 == 0:
            canvas.draw("rect", class_="band", x=left - 8, y=top, width=right - left + 16, height=lane.height, rx=4.0)
        top += lane.height
    _draw_grid(canvas, axis, ticks, floor, progress.height)
    top = _HEAD
    for lane in lanes:
        lane.draw(canvas, left, top)
        top += lane.height
    progress.draw(canvas, left, floor + _AXIS)
    legend.draw(canvas, floor + _AXIS + progress.height + 8)
    return canvas.document(_WIDTH, height, title, _told(played, axis), STYLE)


def _times(played: Played) -> list[int]:
    """Every time the axis must reach. A watermark far from all records and windows lies at its end."""
    windows = [bound for pane in played.panes for bound in (pane.window.start, pane.window.end)]
    return [*(arrival.time for arrival in played.arrivals if arrival.time is not None), *windows]


def _draw_grid(canvas: Canvas, axis: Axis, ticks: list[Tick], floor: float, below: float) -> None:
    for tick in ticks:
        x = axis.x(tick.time)
        canvas.draw("line", class_="grid", x1=x, y1=_HEAD, x2=x, y2=floor)
        canvas.draw("line", class_="grid", x1=x, y1=floor + _AXIS, x2=x, y2=floor + _AXIS + below)
        canvas.draw("line", class_="axis", x1=x, y1=floor, x2=x, y2=floor + 5)
        at_most = _WIDTH - 4 - width_of(tick.text, SMALL) / 2
        canvas.draw("text", tick.text, class_="small middle", x=min(x, at_most), y=floor + 18)
    canvas.draw("line", class_="axis", x1=axis.left, y1=floor, x2=axis.right, y2=floor)
    canvas.draw("text", axis.caption, class_="small faint right", x=axis.right, y=floor + 34)


def _told(played: Played, axis: Axis) -> str:
    """The picture for who cannot see it."""
    said = [f"{described(played.spec)}. {len(played.arrivals)} records in {len(played.moments)} steps."]
    for key in played.keys:
        name = keyed(played.spec.keys, key)
        for pane in played.panes:
            if pane.key == key:
                last = pane.firings[-1]
                ending = ", taken back" if pane.is_taken_back else ""
                window = f"[{axis.text(pane.window.start)}, {axis.text(pane.window.end)})"
                said.append(f"{name} {window}: {last.timing.name} {in_full(last.values)}{ending}.")
    dead = [arrival for arrival in played.arrivals if arrival.fate is Fate.DEAD]
    if dead:
        said.append(f"Dead letters: {', '.join(f'step {letter.step} ({letter.reason})' for letter in dead)}.")
    return " ".join(said)
