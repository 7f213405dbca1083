"""Windows and what takes their firings apart, run as one: first rows, filled gaps, rows with new columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from fanlight.embedded.sources import Records
from fanlight.embedded.standalone import StandaloneOperator
from fanlight.model.fill import FillSpec
from fanlight.model.firing import Op
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.model.preparation import Intake
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import END_OF_TIME, Timestamp, TimestampLike
from fanlight.model.top import RANK, TopSpec
from fanlight.model.windows.window import Window
from fanlight.operators.handover import Handover

AFTER_WINDOWS = (TopSpec, FillSpec, WindowedOverSpec)
"""The specs of what takes firings apart: none of them means anything without its windows."""

Place = tuple[tuple[Any, ...], Window]
"""A key and a window."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """What left of one key and window in a step."""

    place: Place
    values: Mapping[str, Any]
    is_filled: bool = False
    """Whether no record is in it."""
    is_gone: bool = False
    """Whether all that it showed was taken back."""


class WindowsAndAfter:
    """One engine made of two: rows of the windows come to what follows them in the step in which they leave."""

    def __init__(self, windows: WindowSpec, after: Any, intakes: Mapping[str, Intake] | None) -> None:
        self._windows: StandaloneOperator[WindowSpec] = StandaloneOperator(windows, intakes=intakes)
        self._after: StandaloneOperator[Any] = StandaloneOperator(after)
        self._handover = Handover.of(windows, after)
        self.fired: set[Place] = set()
        """Every key and window that has fired."""

    @property
    def watermark(self) -> Timestamp:
        """That of the windows."""
        return self._windows.watermark

    @property
    def clock(self) -> Timestamp:
        """That of the windows."""
        return self._windows.clock

    @property
    def is_bound(self) -> bool:
        """Whether records have come."""
        return self._windows.is_bound

    def add(self, records: Records, *, watermark: TimestampLike | None, clock: TimestampLike | None) -> None:
        """Take a bundle of records."""
        self._windows.add(records, watermark=watermark, clock=clock)
        self._hand_on(self._windows.spec.hands_on(self._windows.watermark))

    def advance(self, *, watermark: TimestampLike | None, clock: TimestampLike | None) -> None:
        """Move the watermark or the clock."""
        self._windows.advance(watermark=watermark, clock=clock)
        self._hand_on(self._windows.spec.hands_on(self._windows.watermark))

    def end(self) -> None:
        """The input ends."""
        self._windows.end()
        self._hand_on(END_OF_TIME)
        self._after.end()

    def take_dead_letters(self) -> pa.Table:
        """Those of the windows, which judge all records."""
        return self._windows.take_dead_letters()

    def take(self) -> pa.Table:
        """The rows that left what follows the windows."""
        return self._after.take() if self._after.is_bound else pa.table({})

    def _hand_on(self, watermark: Timestamp) -> None:
        for batch in self._windows.take().to_batches() if self._windows.is_bound else []:
            records = self._handover.records(batch)
            self.fired |= {place_of(row, self._windows.spec.keys) for row in _with_bounds(pa.table(records))}
            if len(records):
                self._after.add(records, watermark=watermark)


@dataclass(slots=True)
class FollowsWindows:
    """Reads the rows of what follows windows, window by window."""

    spec: TopSpec | FillSpec | WindowedOverSpec
    came_in: Callable[[dict[str, Any]], str]
    """Says in which step the record of a row came."""
    ranks: dict[Place, dict[int, Any]] = field(default_factory=dict)
    """What each rank of a window shows."""

    def read(self, left: pa.Table, fired: set[Place]) -> list[Gathered]:
        """What the rows of a step say of each window."""
        rows = _with_bounds(left) if len(left) else []
        spec = self.spec
        if isinstance(spec, TopSpec):
            return self._ranked(spec, rows)
        if isinstance(spec, FillSpec):
            places = [(place_of(row, spec.keys), row) for row in rows]
            return [
                Gathered(place, {name: row[name] for name in spec.filled}, place not in fired) for place, row in places
            ]
        return self._looked_over(spec, rows)

    def _ranked(self, spec: TopSpec, rows: list[dict[str, Any]]) -> list[Gathered]:
        """What the rows of a window are ranked by, from the first rank on, where a rank has changed."""
        changed = dict.fromkeys(place_of(row, spec.keys) for row in rows)
        for row in rows:
            shown = self.ranks.setdefault(place_of(row, spec.keys), {})
            if row.get("op") in (Op.RETRACT.code, Op.DELETE.code):
                shown.pop(row[RANK], None)
            else:
                shown[row[RANK]] = row[spec.first.order[0].column]
        found = []
        for place in changed:
            values = [self.ranks[place][rank] for rank in sorted(self.ranks[place])]
            found.append(Gathered(place, {spec.first.order[0].column: values}, is_gone=not values))
        return found

    def _looked_over(self, spec: WindowedOverSpec, rows: list[dict[str, Any]]) -> list[Gathered]:
        """The rows of each window in their order, by the steps they came in, and beside them their new columns."""
        found: dict[Place, dict[str, list[Any]]] = {}
        for row in rows:
            values = found.setdefault(place_of(row, spec.keys), {})
            for name, value in (("rows", self.came_in(row)), *((one.name, row[one.name]) for one in spec.new_columns)):
                values.setdefault(name, []).append(value)
        return [Gathered(place, values) for place, values in found.items()]


def place_of(row: dict[str, Any], keys: tuple[str, ...]) -> Place:
    """The key and the window of a row."""
    return tuple(row[name] for name in keys), Window(row["window_start"], row["window_end"])


def _with_bounds(table: pa.Table) -> list[dict[str, Any]]:
    """Rows, the bounds of their windows as whole microseconds."""
    if "window" in table.column_names:
        window = table.column("window").combine_chunks()
        bounds = {f"window_{name}": window.field(name) for name in ("start", "end")}
    else:
        bounds = {name: table.column(name) for name in ("window_start", "window_end")}
    rows: list[dict[str, Any]] = table.drop_columns([name for name in bounds if name in table.column_names]).to_pylist()
    for name, column in bounds.items():
        for row, bound in zip(rows, column.cast(pa.int64()).to_pylist(), strict=True):
            row[name] = bound
    return rows
