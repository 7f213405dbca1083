"""The pre-aggregator of a windowed aggregate, by its kind of windows."""

from __future__ import annotations

from functools import singledispatch

from fanlight.model.semantics import LateBy
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.triggers import AtExpiry, AtWatermark, Every, Never, Repeat
from fanlight.model.windows.custom import Custom
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Sliding
from fanlight.operators.preaggregator import PreAggregator
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.preaggregate.session_runs import session_preaggregator
from fanlight.operators.window.preaggregate.slices import SlicePreAggregator


def preaggregator_of(plan: Plan) -> PreAggregator | None:
    """The pre-aggregator of a plan; None if its records travel unchanged."""
    return _of_kind(plan.spec.window, plan) if _folds_early(plan.spec) and not plan.keeps_messages else None


@singledispatch
def _of_kind(_kind: WindowKind, plan: Plan) -> PreAggregator | None:
    """The pre-aggregator for this kind of windows: by slice, unless another is registered."""
    return SlicePreAggregator(plan)


_of_kind.register(Session, session_preaggregator)
for needs_records in (Custom, Sliding):  # the bounds of a window depend on its single records
    _of_kind.register(needs_records, lambda *_: None)


def _folds_early(spec: WindowSpec) -> bool:
    """Whether records may be aggregated before they are judged.

    Not if messages are kept, if a record's own time or watermark decides, if the shard gives records their time, or
    if a pane can finish, because further records are then dead letters.
    """
    by_window = spec.semantics.late_by is LateBy.WINDOW and not spec.semantics.holds
    by_time = spec.window.domain is TimeDomain.EVENT
    return by_window and by_time and not (spec.needs_messages or _finishes(spec))


def _finishes(spec: WindowSpec) -> bool:
    """Whether a pane can have finished while its window has not expired."""
    match spec.trigger:
        case AtExpiry() | Never() | Every() | Repeat():
            return False
        case AtWatermark(late=None):
            return spec.lateness.micros > 0 or spec.closes_strictly != spec.expires_strictly
        case AtWatermark():
            return False
    return True
