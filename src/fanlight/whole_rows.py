"""Changes as whole rows: what must be done to a stream of changes before somebody looks into its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fanlight.model.normalize import NormalizeSpec
from fanlight.model.preparation import Preparation, Select, Where, text_of
from fanlight.model.time.duration import Duration

if TYPE_CHECKING:
    from fanlight.stream import Stream


def of_whole_rows(stream: Stream, keep: Duration) -> Stream:
    """The stream with every `where` over whole rows.

    A change of a row that is known by unique columns need not say all of it: a delete may have nothing else, and an
    update replaces a row of other values. So these are normalized before the first `where`.
    """
    steps = stream.preparation.steps
    place = next((place for place, step in enumerate(steps) if isinstance(step, Where)), None)
    if place is None or stream.changes is None or stream.changes.consistent or not stream.changes.unique:
        return stream
    time = stream.time
    for step in reversed(steps[place:]):
        time = text_of(dict(step.columns)[time]) if isinstance(step, Select) else time
    known = replace(stream, time=time, preparation=Preparation(steps[:place]))
    rows = normalized(known, keep)
    return replace(rows, time=stream.time, preparation=Preparation(steps[place:]), first_time=time)


def normalized(stream: Stream, keep: Duration) -> Stream:
    """The same changes, of which every delete has its row; rows are kept for `keep` to be found again."""
    assert stream.changes is not None
    said = (stream.time, stream.changes.unique or stream.keys, stream.changes, keep)
    changes = stream.complete(NormalizeSpec(*said, stream.watermark, stream.unit, stream.ahead)).as_stream()
    return replace(changes, keys=stream.keys, tick=stream.tick, lateness=stream.lateness)
