"""Every kind of window there is, and what tells them apart.

    aligned      every key has the same     tumbling, hopping, global, cumulating, calendar, counting per stream
    unaligned    each key has its own       session, sliding, counting per key, custom

`kernels.slicing` cuts the axis for the aligned ones; `operators.unaligned` keeps the others pane by pane.
"""

from __future__ import annotations

from fanlight.model.calendar import Calendar
from fanlight.model.counting import Counting, Scope
from fanlight.model.cumulating import Cumulating
from fanlight.model.custom import Custom
from fanlight.model.sessions import Session
from fanlight.model.sliding import Sliding
from fanlight.model.windows import Global, Hopping, Same, TimeDomain, Tumbling

Aligned = Tumbling | Hopping | Global | Same | Cumulating | Calendar | Counting
Unaligned = Session | Sliding | Custom | Counting
WindowKind = Tumbling | Hopping | Global | Same | Cumulating | Calendar | Session | Sliding | Custom | Counting


def is_aligned(kind: WindowKind) -> bool:
    """Whether every key has the same windows."""
    if isinstance(kind, Counting):
        return kind.per is Scope.STREAM
    return not isinstance(kind, Session | Sliding | Custom)


def heeds_earliest_start(kind: WindowKind) -> bool:
    """Whether `Semantics.earliest_start` says anything of such windows."""
    return not isinstance(kind, Session | Global | Counting | Custom)


def domain_of(kind: WindowKind) -> TimeDomain:
    """What the bounds of a window are: times, or positions. Those of a later stage are what they were in the first."""
    return domain_of(kind.of) if isinstance(kind, Same) else kind.domain


def spans_keys(kind: WindowKind) -> bool:
    """Whether the windows of a record depend on records of other keys, so that all of them must meet in one place."""
    counts_its_key = isinstance(kind, Counting) and kind.per is Scope.KEY
    return domain_of(kind) is TimeDomain.ARRIVAL and not counts_its_key


def overlap_of(kind: WindowKind) -> int:
    """In how many windows a record is, at most, where the kind itself says it; 1 elsewhere."""
    match kind:
        case Hopping():
            return -(-kind.size.micros // kind.every.micros)
        case Cumulating():
            return kind.size.micros // kind.step.micros
        case Counting():
            return -(-kind.size // kind.every)
    return 1


def read_columns(kind: WindowKind) -> tuple[str, ...]:
    """The input columns that say to which windows a record belongs, besides its time."""
    match kind:
        case Session(gap_from=gap, ends_on=end):
            return tuple(name for name in (gap, end) if name is not None)
        case Counting(by=str(name)):
            return (name,)
    return ()
