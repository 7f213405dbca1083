"""A picture of a chain of stages, one above the other: the rows of a stage are the records of the one below it.

    title
    stage 1        its lanes, the axis, its watermark
    stage 2        the rows of stage 1 as records; the same axis; the watermark that is handed on
    what the marks mean

Steps have the same numbers in all stages: what leaves one in a step comes to the next in that step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import pyarrow as pa

from fanlight.embedded.run import EmbeddedRun
from fanlight.embedded.sources import Records
from fanlight.embedded.standalone import StandaloneOperator
from fanlight.errors import SpecError
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.model.time.watermarks import Several
from fanlight.operators.handover import Handover
from fanlight.viz.axis import Axis, axis_over
from fanlight.viz.lanes import gutter
from fanlight.viz.legend import Legend, meanings_of
from fanlight.viz.panel import MARGIN, WIDTH, panel_of, times_of
from fanlight.viz.played import Played, TimelineStep, played_of
from fanlight.viz.style import STYLE
from fanlight.viz.svg import Canvas
from fanlight.viz.words import described

_HEAD = 44.0
_NAME = 30.0
_BETWEEN = 12.0


class StageOfChain(Protocol):
    """One stage of a pipeline in this process, such as the result of `agg` or of `sort`."""

    @property
    def spec(self) -> StreamSpec: ...

    @property
    def befores(self) -> Sequence[StageOfChain]: ...

    def embedded_run(self) -> EmbeddedRun: ...


class Chain(Protocol):
    """What knows its stages, such as the result of the last one."""

    @property
    def stages(self) -> Sequence[StageOfChain]: ...


def stages(chain: Chain, steps: Iterable[TimelineStep | Records], *, title: str) -> str:
    """An SVG document that shows what each stage makes of `steps`, and of the rows of the stage before.

    A step is what it is in `timeline`. After the last one the input ends.

    >>> import fanlight as fl
    >>> orders = [{"ts": 5, "price": 3}, {"ts": 42, "price": 4}, {"ts": 61, "price": 1}]
    >>> minutes = fl.stream(orders, time="ts", unit="s").window(fl.tumbling("1 minute")).agg(total=fl.sum("price"))
    >>> best = minutes.window(fl.tumbling("1 hour")).agg(most=fl.max("total"))
    >>> picture = stages(best, orders, title="Minutes and hours")
    >>> "total=7" in picture and "most=7" in picture
    True
    """
    specs = [_drawable(stage) for stage in chain.stages]
    coming = [step if isinstance(step, TimelineStep) else TimelineStep(step) for step in steps]
    plays = []
    for place, spec in enumerate(specs):
        plays.append(played_of(spec, coming))
        if place + 1 < len(specs):
            coming = list(_handed_on(spec, specs[place + 1], coming))
    return _drawn(plays, title)


def _drawable(stage: StageOfChain) -> StreamSpec:
    """The spec of a stage, if a picture of its records shows all that it does."""
    several = len(stage.befores) > 1 or isinstance(stage.spec.watermark, Several)
    if several or stage.embedded_run().intakes:
        what = "reads several inputs" if several else "prepares its records by where, select or a function"
        raise SpecError(
            f"stages: a stage ({described(stage.spec)}) {what}, which a picture does not show. "
            "Draw a pipeline without it over the records as they are afterwards."
        )
    return stage.spec


def _handed_on(spec: StreamSpec, following: StreamSpec, steps: Iterable[TimelineStep]) -> Iterator[TimelineStep]:
    """What the stage of `spec` hands on in each step, and at the end of the input."""
    handover, operator = Handover.of(spec, following), StandaloneOperator[Any](spec)
    for step in steps:
        if step.records is not None:
            operator.add(step.records, watermark=step.watermark, clock=step.clock)
        elif not step.ends:
            operator.advance(watermark=step.watermark, clock=step.clock)
        if step.ends:
            break
        rows = _records(handover, operator)
        yield TimelineStep(rows, spec.hands_on(operator.watermark), operator.clock)
    operator.end()
    yield TimelineStep(_records(handover, operator), END_OF_TIME, operator.clock, ends=True)


def _records(handover: Handover, operator: StandaloneOperator[Any]) -> pa.RecordBatch | None:
    """The rows that wait, as one bundle of the next stage."""
    left = operator.take().to_batches() if operator.is_bound else []
    batches = [handover.records(batch) for batch in left if len(batch)]
    return pa.concat_batches(batches) if batches else None


def _drawn(plays: Sequence[Played], title: str) -> str:
    left, right = MARGIN, WIDTH - MARGIN
    panels = [panel_of(played, _axis(played, plays)) for played in plays]
    legend = Legend([meaning for played in plays for meaning in meanings_of(played)], left, right)
    height = _HEAD + sum(_NAME + panel.height + _BETWEEN for panel in panels) + legend.height + 12
    canvas = Canvas()
    canvas.draw("rect", class_="ground", x=0.0, y=0.0, width=WIDTH, height=height, rx=6.0)
    canvas.draw("text", title, class_="title", x=left, y=34.0)
    top = _HEAD
    for number, (played, panel) in enumerate(zip(plays, panels, strict=True), 1):
        name = f"stage {number}: {described(played.spec)}"
        canvas.draw("text", name, class_="faint", x=left, y=top + 20)
        panel.draw(canvas, top + _NAME)
        top += _NAME + panel.height + _BETWEEN
    legend.draw(canvas, top)
    told = " ".join(f"Stage {number}: {panel.told}" for number, panel in enumerate(panels, 1))
    return canvas.document(WIDTH, height, title, told, STYLE)


def _axis(played: Played, plays: Sequence[Played]) -> Axis:
    """The axis of a stage; stages that go by the same kind of time have the same one."""
    times = [time for one in plays if one.spec.domain is played.spec.domain for time in times_of(one)]
    return axis_over(played.spec, times, MARGIN + max(map(gutter, plays)), WIDTH - MARGIN)
