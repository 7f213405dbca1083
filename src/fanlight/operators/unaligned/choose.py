"""From a declared window to how its records join panes."""

from __future__ import annotations

import pyarrow as pa

from fanlight.errors import SpecError
from fanlight.model.counting import Counting
from fanlight.model.custom import Custom
from fanlight.model.kinds import WindowKind
from fanlight.model.sessions import Session
from fanlight.model.sliding import Sliding
from fanlight.operators.plan import Plan
from fanlight.operators.unaligned.assigned import AssignedWindows
from fanlight.operators.unaligned.buckets import OWN, width_for
from fanlight.operators.unaligned.counting import COUNTED, KeyCounts
from fanlight.operators.unaligned.joining import Joining, Room
from fanlight.operators.unaligned.limits import Kept, LimitedSessions
from fanlight.operators.unaligned.sessions import Sessions
from fanlight.operators.unaligned.sliding import SlidingWindows

_MINUTE = 60_000_000


def choose(room: Room) -> Joining:
    """How the records of a plan join its windows."""
    match room.plan.spec.window:
        case Session() as kind:
            return LimitedSessions(room, kind) if kind.has_limits else Sessions(room, kind)
        case Custom() as kind:
            return AssignedWindows(room, kind)
        case Counting() as kind:
            return KeyCounts(room, kind)
        case Sliding() as kind:
            return SlidingWindows(room, kind)
    raise SpecError(f"window: {room.plan.spec.window!r} is no window that each key has for itself.")


def own_columns(kind: WindowKind) -> dict[str, tuple[str, int]]:
    """What panes of this kind keep beside their trigger's state."""
    return OWN | COUNTED if isinstance(kind, Counting) else OWN


def kept_type(plan: Plan) -> pa.DataType | None:
    """What panes keep of each record, where their windows can be cut anew."""
    kind = plan.spec.window
    return Kept.kind(plan) if isinstance(kind, Session) and kind.has_limits else None


def width_of(kind: WindowKind) -> int:
    """How wide the buckets are that panes of this kind are kept in."""
    match kind:
        case Session(gap=gap) if gap is not None:
            return width_for(gap.micros)
        case Sliding(difference=difference):
            return width_for(difference.micros)
    return _MINUTE
