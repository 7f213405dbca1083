"""A picture of a pipeline at work: records in, windows and firings out, or rows in order, over the time axis.

    title, and what the pipeline asks for
    a lane for each key      records at their times, windows as bars, in them what fired
    the axis
    the watermark            a row for each step
    what the marks mean

Nothing is drawn by hand: the records run through the embedded engine, and the picture shows what it gave. Without
other records these are the pipeline's own, in its own bundles.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Protocol, cast

import pyarrow as pa

from fanlight.embedded.sources import Records
from fanlight.errors import SpecError
from fanlight.model.join.sided import SidedSpec
from fanlight.model.join.spec import JoinSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.viz.after_windows import AFTER_WINDOWS
from fanlight.viz.axis import axis_over
from fanlight.viz.frame import framed
from fanlight.viz.joins.picture import join_picture
from fanlight.viz.lanes import gutter
from fanlight.viz.legend import meanings_of
from fanlight.viz.merged import merged_inputs
from fanlight.viz.own_run import RunsItself, own_run
from fanlight.viz.panel import MARGIN, WIDTH, panel_of, times_of
from fanlight.viz.played import Played, TimelineStep, played_of
from fanlight.viz.words import described


class Pipeline(Protocol):
    """What knows its spec, such as the result of `agg` or of `sort`."""

    @property
    def spec(self) -> StreamSpec: ...


def timeline(
    pipeline: Pipeline | StreamSpec,
    steps: Iterable[TimelineStep | Records] | None = None,
    *,
    title: str | None = None,
    clock: str | None = None,
    schema: pa.Schema | None = None,
    ends: bool = True,
) -> str:
    """An SVG document that shows what the engine makes of `steps`; the same input gives the same bytes.

    Without `steps` it is the pipeline's own run: its source is read from the start, and its bundles are the steps; of
    several stages, the last. A source that can be read once is gone after it. Of a join it is always its own run, with
    a lane for each side and a line for each match.

    Otherwise a step is a bundle of records (one dict is a bundle of one), or a `TimelineStep` that moves the watermark
    or the clock as well. `clock` names a column of arrival times, as in `stream`. After the last step the input ends,
    unless `ends` is false.

    >>> import fanlight as fl
    >>> orders = [{"ts": 5, "price": 3}, {"ts": 42, "price": 4}, {"ts": 61, "price": 1}]
    >>> totals = fl.stream(orders, time="ts", unit="s").window(fl.tumbling("1 minute")).agg(total=fl.sum("price"))
    >>> picture = timeline(totals, orders, title="Two minutes")
    >>> picture.startswith("<svg") and "total=7" in picture
    True
    >>> timeline(totals).count("one bundle")
    0
    """
    spec = pipeline if isinstance(pipeline, StreamSpec) else pipeline.spec
    said: dict[str, Any] = {"clock": clock, "schema": schema, "ends": ends}
    coming: Iterable[TimelineStep | Records]
    if steps is None and isinstance(pipeline, StreamSpec):
        raise SpecError("timeline: a spec has no records of its own. Give it steps, as in timeline(spec, [{…}, {…}]).")
    if isinstance(spec, JoinSpec):
        if steps is not None:
            raise SpecError(
                "timeline: a join has two inputs, and a step does not say of which its records are. Leave the steps "
                "out: then it is the join's own run. Declare the join over lists of these records, with rows=1."
            )
        return join_picture(cast("RunsItself", pipeline), title)
    if isinstance(spec, SidedSpec):
        raise SpecError(
            "timeline: a picture of a join has a left side and a right one, and an n-way join has no picture. Draw "
            "it two by two, as in timeline(orders.join(payments, …))."
        )
    if isinstance(spec, AFTER_WINDOWS):
        windows = _windows_before(pipeline)
        if steps is None:
            said["windows"], coming = own_run(windows)
        else:
            said |= {"windows": windows.spec, "intakes": windows.embedded_run().intakes}
            coming = steps
        return drawn(played_of(spec, coming, **said), title or described(spec))
    drawn_as, coming = (spec, steps) if steps is not None else own_run(cast("RunsItself", pipeline))
    played = replace(played_of(drawn_as, coming, inputs=merged_inputs(spec), **said), spec=spec)
    return drawn(played, title or described(spec))


def _windows_before(pipeline: object) -> Any:
    """The windows whose firings a pipeline takes apart."""
    *befores, windows, _ = getattr(pipeline, "stages", (None, None))
    if befores or windows is None:
        raise SpecError(
            "timeline: what follows windows is drawn with them, from records alone. Give the result itself, of a "
            "pipeline that has no other stage before."
        )
    return windows


def drawn(played: Played, title: str) -> str:
    """The picture of a run."""
    left, right = MARGIN, WIDTH - MARGIN
    panel = panel_of(played, axis_over(played.spec, times_of(played), left + gutter(played), right))
    return framed(panel, meanings_of(played), title, described(played.spec))
