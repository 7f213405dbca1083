"""Over, read slowly from the law: all rows are kept, and every new column is computed from scratch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame, SessionFrame
from fanlight.model.over.functions import (
    ColumnFunction,
    DenseRank,
    Lag,
    LastValue,
    Lead,
    NthValue,
    Rank,
    RowFunction,
    RowNumber,
)
from fanlight.model.over.spec import Computed, OverSpec
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Explicit
from fanlight.testing.oracle.aggregates.every import compute, given
from fanlight.testing.oracle.order import descending, null_last
from fanlight.testing.oracle.sort import SortOracle
from fanlight.testing.oracle.value_range import told_exactly
from fanlight.testing.script import DeadLetter, Key, Record, Step, as_key


@dataclass(eq=False, slots=True)
class KeptRow:
    """A row that was accepted: it stays for ever, and leaves once."""

    time: int
    key: Key
    record: Record
    has_left: bool = False


Stretch = list[KeptRow]
"""Rows of one key in their order, none of them more than `forget` after the one before."""


@dataclass(frozen=True, slots=True)
class OverOutcome:
    """What one step of `over` gave: rows and dead letters in their order, and the watermark it acted on.

    `withheld` are the rows that did not leave, because a type cannot hold a value of theirs: that one is text.
    """

    rows: tuple[Record, ...]
    dead_letters: tuple[DeadLetter, ...]
    records_in: int
    accepted: int
    watermark: int
    withheld: tuple[Record, ...] = ()


class OverOracle:
    """One run of `over`, in one shard; `step` takes it further.

    >>> from fanlight.model.aggregates import sum
    >>> from fanlight.model.over.frame import range
    >>> oracle = OverOracle(OverSpec("ts", (("s", range("2 us"), sum("v")),), watermark=Explicit()))
    >>> came = {"ts": 3, "v": 10}, {"ts": 1, "v": 1}, {"ts": 4, "v": 5}
    >>> oracle.step(Step(records=came, watermark=4)).rows
    ({'ts': 1, 'v': 1, 's': 1}, {'ts': 3, 'v': 10, 's': 11})
    >>> oracle.step(Step(end=True)).rows
    ({'ts': 4, 'v': 5, 's': 15},)
    """

    mode: ClassVar[EmissionMode] = EmissionMode.ON_CLOSE
    """Those of the other modes are in `over_modes`."""

    def __init__(self, spec: OverSpec) -> None:
        if spec.mode is not self.mode:
            raise SpecError(f"oracle of over: this one is for {self.mode.value}, and the spec says {spec.mode.value}.")
        if not isinstance(spec.watermark, Explicit | BoundedDisorder):
            raise SpecError(f"oracle of over: {spec.watermark!r} is not read here. Use Explicit or BoundedDisorder.")
        self.spec = spec
        self.kept: list[KeptRow] = []
        # Records are judged, and the watermark moves, as in a sort: one that sees times alone says how.
        self.judge = SortOracle(spec.time, (), spec.watermark, None if spec.ahead is None else spec.ahead.micros)

    @property
    def clock(self) -> int:
        """The clock it has reached."""
        return self.judge.clock

    @property
    def watermark(self) -> int:
        """The watermark it has reached."""
        return self.judge.watermark

    def step(self, step: Step) -> OverOutcome:
        """One step of the law, in its order: the clock, the records, the watermark, what leaves."""
        time, place = self.spec.time, f"the place beside {self.spec.time}"
        timed = tuple({time: record[time], place: number} for number, record in enumerate(step.records))
        judged = self.judge.step(replace(step, records=timed))
        refused = {letter[place]: reason for reason, letter in judged.dead_letters}
        for number, record in enumerate(step.records):
            if number not in refused:
                self.kept.append(KeptRow(record[time], as_key(record[name] for name in self.spec.keys), record))
        rows, withheld = self._release()
        letters = tuple((reason, step.records[number]) for number, reason in refused.items())
        return OverOutcome(rows, letters, judged.records_in, judged.accepted, judged.watermark, withheld)

    def _release(self) -> tuple[tuple[Record, ...], tuple[Record, ...]]:
        """Mark the rows that are complete, and say them: those that leave, and those that cannot."""
        leaving: list[tuple[KeptRow, Record, bool]] = []
        for stretch in self._stretches():
            for place, row in enumerate(stretch):
                if not row.has_left and self._is_complete(stretch, place):
                    row.has_left = True
                    leaving.append((row, *self._said(stretch, place)))
        place_of = {id(row): place for place, row in enumerate(self._ordered(self.kept))}
        leaving.sort(key=lambda left: place_of[id(left[0])])
        fitting = tuple(said for _, said, fits in leaving if fits)
        return fitting, tuple(said for _, said, fits in leaving if not fits)

    def _ordered(self, rows: Sequence[KeptRow]) -> list[KeptRow]:
        """By time, then by the columns of `order`, then as they came: Python's sort leaves equal rows as they are."""
        found = list(rows)
        for by in reversed(self.spec.order):
            if by.descending:
                found.sort(key=lambda row: descending(row.record[by.column]), reverse=True)
            else:
                found.sort(key=lambda row: null_last(row.record[by.column]))
        return sorted(found, key=lambda row: row.time)

    def _stretches(self) -> list[Stretch]:
        """The rows of each key, in order, cut where one is more than `forget` after the one before it."""
        by_key: dict[Key, Stretch] = {}
        for row in self._ordered(self.kept):
            by_key.setdefault(row.key, []).append(row)
        forget, found = self.spec.forget, []
        for rows in by_key.values():
            cuts = [
                place
                for place, (before, row) in enumerate(pairwise(rows), start=1)
                if forget is not None and not forget.is_forever and row.time - before.time > forget.micros
            ]
            found += [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
        return found

    def _is_complete(self, stretch: Stretch, place: int) -> bool:
        """Whether the watermark shows that nothing can change the row any more."""
        if self.watermark == END_OF_TIME:
            return True
        if any(stretch[place].time + one.frame.time_after >= self.watermark for one in self.spec.new_columns):
            return False
        if self._is_over(stretch):
            return True
        after = [row for row in stretch[place + 1 :] if row.time < self.watermark]
        return all(
            _sees_enough(one, stretch[place].time, after, self.watermark)
            and _is_silent(one.frame, stretch, place, self.watermark)
            for one in self.spec.new_columns
        )

    def _is_over(self, stretch: Stretch) -> bool:
        """Whether no further row can be of the stretch."""
        forget = self.spec.forget
        return forget is not None and not forget.is_forever and stretch[-1].time + forget.micros < self.watermark

    def _said(self, stretch: Stretch, place: int) -> tuple[Record, bool]:
        """The row with its new columns, and whether their types can hold them: what one cannot is text."""
        values: dict[str, Any] = {}
        fits = True
        for one in self.spec.new_columns:
            values[one.name] = self._value(one, stretch, place)
            told = told_exactly(one.function, values[one.name]) if isinstance(one.function, Aggregate) else None
            if told is not None:
                values[one.name], fits = told, False
        return {**stretch[place].record, **values}, fits

    def _value(self, one: Computed, stretch: Stretch, place: int) -> Any:
        function = one.function
        match function:
            case Aggregate():
                seen = frame_rows(one.frame, stretch, place)
                return compute(function, [(row.time, given(function, row.record)) for row in seen])
            case RowNumber():
                return place + 1
            case Rank():
                return 1 + next(n for n, row in enumerate(stretch) if row.time == stretch[place].time)
            case DenseRank():
                return 1 + sum(one.time != other.time for one, other in pairwise(stretch[: place + 1]))
            case ColumnFunction():
                return other_value(function, stretch, place, frame_rows(one.frame, stretch, place))
        raise SpecError(f"oracle of over: {one.function!r} is not one it knows. Use those of fanlight.model.over.")


def frame_rows(frame: Frame, stretch: Stretch, place: int) -> Stretch:
    """The rows of a frame, in order.

    >>> rows = [KeptRow(time, (), {}) for time in (1, 2, 2, 5)]
    >>> [row.time for row in frame_rows(RangeFrame(True), rows, 1)], len(frame_rows(RowFrame(False, 9, 1), rows, 1))
    ([2], 3)
    """
    this = stretch[place]
    match frame:
        case RowFrame(preceding=preceding, following=following):
            first = 0 if preceding is None else place - preceding
            last = len(stretch) if following is None else place + following
            found = [row for number, row in enumerate(stretch) if first <= number <= last]
        case RangeFrame(preceding=before, following=after):
            found = [
                row
                for row in stretch
                if (before.is_forever or this.time - before.micros <= row.time)
                and (after.is_forever or row.time <= this.time + after.micros)
            ]
        case SessionFrame(gap=gap):
            found = session_of(stretch, place, gap.micros)
        case _:
            raise SpecError(f"oracle of over: {frame!r} is no frame it knows. Use rows(3) or range('60 s').")
    return [row for row in found if row is not this] if frame.excludes_current else found


def session_of(stretch: Stretch, place: int, gap: int) -> Stretch:
    """The rows around a row, each less than `gap` after the one before."""
    first = last = place
    while first > 0 and stretch[first].time - stretch[first - 1].time < gap:
        first -= 1
    while last + 1 < len(stretch) and stretch[last + 1].time - stretch[last].time < gap:
        last += 1
    return stretch[first : last + 1]


def other_value(function: RowFunction, stretch: Stretch, place: int, frame: Stretch) -> Any:
    """The value of another row; null if there is no such row."""
    match function:
        case Lag(offset=0) | Lead(offset=0):
            return stretch[place].record[function.column]
        case Lag():
            return _nth(function, stretch[:place][::-1], function.offset)
        case Lead():
            latest = None if function.within is None else stretch[place].time + function.within.micros
            after = stretch[place + 1 :]
            counted = _counted(function, after)[function.offset - 1 : function.offset]
            return next((row.record[function.column] for row in counted if latest is None or row.time <= latest), None)
        case NthValue():
            return _nth(function, frame, function.offset)
        case LastValue():
            return _nth(function, frame[::-1], 1)
    raise SpecError(f"oracle of over: {function!r} is not one it knows. Use those of fanlight.model.over.")


def _nth(function: ColumnFunction, rows: Stretch, n: int) -> Any:
    counted = _counted(function, rows)
    return counted[n - 1].record[function.column] if n <= len(counted) else None


def _counted(function: ColumnFunction, rows: Stretch) -> Stretch:
    """The rows that count: those with a value, if nulls are passed over."""
    return [row for row in rows if not function.ignore_nulls or row.record[function.column] is not None]


def _sees_enough(one: Computed, time: int, after: Stretch, watermark: int) -> bool:
    """Whether the rows that a new column waits for are among those `after` the row that the watermark has passed."""
    function = one.function
    if len(after) < (one.frame.rows_after if isinstance(one.frame, RowFrame) else 0):
        return False  # a frame is waited for also where the function does not look at it
    if isinstance(function, Lead) and len(_counted(function, after)) < function.offset:
        return function.within is not None and time + function.within.micros < watermark
    return True


def _is_silent(frame: Frame, stretch: Stretch, place: int, watermark: int) -> bool:
    """Whether the session of a row is over, if its frame is one."""
    if not isinstance(frame, SessionFrame):
        return True
    return session_of(stretch, place, frame.gap.micros)[-1].time + frame.gap.micros <= watermark
