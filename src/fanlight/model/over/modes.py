"""What the mode of an `over` allows: which frames, orders and changes go with rows that leave when."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.over.frame import Frame, RangeFrame, SessionFrame
from fanlight.model.over.functions import Lead

if TYPE_CHECKING:
    from fanlight.model.over.spec import Computed, OverSpec


def refusals(spec: OverSpec) -> Iterator[str]:
    """What cannot be: the first is told to the user."""
    if spec.mode is EmissionMode.RETRACTING:
        yield from _kept_up_to_date(spec)
        return
    if spec.changes is not None:
        yield (
            f"over: this stream has changes (`{spec.changes.op}`), which may take back a row that has left. "
            "Say retracting(retention='1 hour') after add(…), which takes it back too; or sort it first, which gives "
            "the rows that are left, as in sort().key_by(…).over(…)."
        )
    if spec.by:
        yield (
            f"over: `by` ({_named(spec)}) orders rows by something else than their time, so that any row to come may "
            "change one that has left. Say retracting(retention='1 hour') after add(…), which takes it back; or use "
            "`order`, for rows of one time."
        )
    if spec.retention is not None:
        yield f"over: `retention` ({spec.retention}) is for rows that are corrected. Say retracting, or leave it out."
    if spec.mode is EmissionMode.EAGER:
        for one in spec.new_columns:
            if _looks_ahead(one):
                yield (
                    f"eager: {one.name} looks at rows after its own, which have not come when the row leaves. Say "
                    "on_close(), which waits for them, or retracting(retention='1 hour'), which corrects the row."
                )


def _kept_up_to_date(spec: OverSpec) -> Iterator[str]:
    if spec.retention is None:
        yield (
            "retracting: nothing says for how long rows can still be corrected, and all of them would be kept. Say "
            "so, as in retracting(retention='1 hour'), or retention='forever' if the rows are few."
        )
    elif spec.retention.micros < 0:
        yield f"retracting: `retention` ({spec.retention}) must be from 0 up."
    for one in spec.new_columns:
        if one.name == spec.op:
            yield f"retracting: {one.name!r} is the column of operations. Give the new column another name."
    if spec.changes is not None and spec.changes.op in (spec.time, *spec.keys, *_looked_at(spec)):
        yield (
            f"over: {spec.changes.op!r} is the column of operations, which says what a record does and is no part of "
            "its row. Use other columns."
        )
    if spec.by:
        yield from _by_columns(spec)


def _by_columns(spec: OverSpec) -> Iterator[str]:
    names = [one.column for one in spec.by]
    for name in names:
        if names.count(name) > 1:
            yield f"over: `by` names {name!r} twice, without effect. Name it once."
    if spec.order:
        yield "over: `by` is the whole order, and `order` is for rows of one time. Say all columns in `by`."
    if spec.forget is not None:
        yield (
            f"over: `forget` ({spec.forget}) goes by the time between two rows, and these are ordered by "
            f"{_named(spec)}. Leave it out: `retention` says how long rows are kept."
        )
    for one in spec.new_columns if names != [spec.time] else ():
        if _measures_time(one.frame):
            yield (
                f"over: the frame of {one.name} is {one.frame}, which measures times, and rows are ordered by "
                f"{_named(spec)}. Use rows(…), or by={spec.time!r}."
            )
        if isinstance(one.function, Lead) and one.function.within is not None:
            yield (
                f"over: {one.name} says `within`, which measures times, and rows are ordered by {_named(spec)}. "
                f"Leave it out, or use by={spec.time!r}."
            )


def _looks_ahead(one: Computed) -> bool:
    """Whether a new column looks at rows after its own."""
    leads = isinstance(one.function, Lead) and one.function.offset > 0
    return leads or isinstance(one.frame, SessionFrame) or bool(one.rows_after or one.frame.time_after)


def _measures_time(frame: Frame) -> bool:
    """Whether a frame asks how far rows are apart, rather than which of them are equal."""
    return isinstance(frame, SessionFrame) or (isinstance(frame, RangeFrame) and frame.has_lengths)


def _looked_at(spec: OverSpec) -> Iterator[str]:
    yield from (one.column for one in (*spec.order, *spec.by))
    for one in spec.new_columns:
        yield from one.function.columns


def _named(spec: OverSpec) -> str:
    return ", ".join(f"`{one.column}`" for one in spec.by)
