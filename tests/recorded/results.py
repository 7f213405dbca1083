"""Every pipeline shape as users declare and read it: `stream(…).window(…).agg(…)`, its table, letters and accounting.

And what comes of its results when they are grouped again inside their windows, where that is allowed.
"""

from __future__ import annotations

from functools import cache
from itertools import count

import pyarrow as pa
from tests.spark.shapes import SCHEMA, bundles

import fanlight as fl

from .shapes import SECOND, SHAPES
from .tape import Tape

AT_ONCE = 8
"""Records a bundle."""


def declared(spec: fl.WindowSpec) -> fl.Result:
    """The pipeline of a spec, in the words of the public API, over the shapes' records."""
    clock = count(SECOND, 3 * SECOND)
    records = fl.stream(
        pa.concat_tables(bundles()),
        time=spec.time,
        watermark=spec.watermark,
        unit=spec.unit,
        tick=spec.tick,
        ahead=spec.ahead,
        clock=lambda: next(clock),
        rows=AT_ONCE,
        schema=SCHEMA,
    )
    keyed = records.key_by(*spec.keys) if spec.keys else records
    windowed = keyed.window(spec.window, lateness=spec.lateness, retention=spec.retention)
    windowed = windowed.trigger(spec.trigger, updated_only=spec.updated_only).semantics(spec.semantics)
    windowed = getattr(windowed, spec.accumulation.value)()
    return windowed.stamped(spec.firing_time).agg(**dict(spec.aggregates))


@cache
def played(name: str) -> Tape:
    """What a shape gives, and what its results give when they are grouped again."""
    tape = Tape()
    _note(tape, "read", declared(SHAPES[name].spec))
    spec = SHAPES[name].spec
    if not (spec.fires_once or spec.accumulation is fl.Accumulation.DISCARDING) or not spec.window.is_aligned:
        return tape  # then, such results could not be grouped again
    try:
        again = declared(spec).rewindow().agg(many=fl.count(), all=fl.sum("n"), best=fl.max("total"))
    except fl.SpecError:
        return tape
    _note(tape, "grouped again", again)
    return tape


def _note(tape: Tape, step: str, result: fl.Result) -> None:
    track = tape.track(result.spec)
    rows, letters = result.table(), result.dead_letters
    assert isinstance(letters, pa.Table)
    track.note(step, rows, letters, result.accounting.as_dict())
