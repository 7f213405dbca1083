"""The slicing of each kind of window: kinds are registered here.

A kind that is not registered, such as a user's own, brings its slicing itself.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Protocol, runtime_checkable

from fanlight.errors import SpecError
from fanlight.kernels.slicing.assigned import Assigned
from fanlight.kernels.slicing.calendar import CalendarUnits
from fanlight.kernels.slicing.counting import counting_slicing
from fanlight.kernels.slicing.cumulative import Cumulative
from fanlight.kernels.slicing.periodic import Periodic
from fanlight.kernels.slicing.slicing import Slicing
from fanlight.kernels.slicing.unsliced import Unsliced
from fanlight.kernels.slicing.whole import Whole
from fanlight.model.semantics import Semantics
from fanlight.model.windows.calendar import Calendar
from fanlight.model.windows.counting import Counting
from fanlight.model.windows.cumulating import Cumulating
from fanlight.model.windows.custom import Custom
from fanlight.model.windows.global_window import Global
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.same import Same
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Sliding
from fanlight.model.windows.tumbling import Tumbling


@runtime_checkable
class BringsSlicing(Protocol):
    """A kind of window that brings its own slicing."""

    def slicing(self, semantics: Semantics) -> Slicing:
        """The slicing of this kind under these semantics."""


@singledispatch
def slicing_of(kind: WindowKind, semantics: Semantics) -> Slicing:
    """The slicing of a kind of window."""
    if isinstance(kind, BringsSlicing) and kind.is_aligned:
        return kind.slicing(semantics)
    raise SpecError(
        f"window: {type(kind).__name__} does not say how it cuts time into slices that every key shares. "
        "Give it a method `slicing(semantics)` that returns a fanlight.extend.Slicing; or, if each key has windows of "
        "its own, use custom(...) with a function that names them."
    )


@slicing_of.register
def _(kind: Tumbling, semantics: Semantics) -> Slicing:
    return Periodic.cut(kind.size.micros, kind.size.micros, kind.offset.micros, semantics.earliest_start)


@slicing_of.register
def _(kind: Hopping, semantics: Semantics) -> Slicing:
    return Periodic.cut(kind.size.micros, kind.every.micros, kind.offset.micros, semantics.earliest_start)


@slicing_of.register
def _(_kind: Global, _semantics: Semantics) -> Slicing:
    return Whole()


@slicing_of.register
def _(kind: Same, semantics: Semantics) -> Slicing:
    return Assigned(slicing_of(kind.of, semantics))


slicing_of.register(Counting, counting_slicing)
slicing_of.register(Cumulating, Cumulative.of_kind)
slicing_of.register(Calendar, CalendarUnits.of_kind)
for unaligned in (Custom, Session, Sliding):
    slicing_of.register(unaligned, lambda *_: Unsliced())
