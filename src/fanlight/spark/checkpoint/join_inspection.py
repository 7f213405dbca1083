"""Read what a join keeps from a query's checkpoint: the rows of each side, and how far each side has come."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from fanlight.errors import InputError
from fanlight.model.join.sides import Side
from fanlight.model.time.timestamp import TimestampLike
from fanlight.operators.accounting import INPUT, MOMENT, moments
from fanlight.operators.join.n_way.plan import NWayPlan
from fanlight.operators.join.plan import JoinPlan
from fanlight.operators.kept_rows import kept_rows
from fanlight.operators.shard import Shard
from fanlight.spark.checkpoint.inspected_stage import Inspection
from fanlight.spark.spreading import without_copies

_WATERMARKS = pa.schema({"shard": pa.int32(), INPUT: pa.string(), "watermark": MOMENT})


class JoinInspection(Inspection):
    """The state of a join, as of one batch."""

    plan: JoinPlan | NWayPlan  # type: ignore[assignment]  # it reads another plan than that of windows

    def kept(self, side: str) -> DataFrame:
        """The rows that are kept of one side: those that may still be matched, or wait to leave; each once."""
        columns = {one.name: own for one, own in self.sides}
        if side not in columns:
            raise InputError(f"inspect: {side!r} is no side of this join. Use one of {', '.join(map(repr, columns))}.")
        plan, ids = self.plan, self._ids

        def own(shard: Shard, name: int) -> pa.Table:
            return without_copies(plan, side, kept_rows(shard)[side], ids, name)

        return self._read(self._chunks, columns[side], own)

    def watermarks(self) -> DataFrame:
        """The watermark of each side in each shard."""
        return self._read(self._chunks, _WATERMARKS, _watermarks)

    @property
    def sides(self) -> list[tuple[Side, pa.Schema]]:
        """The sides of the join, and the columns of each."""
        return self.plan.sides

    def windows(
        self, keys: Any = None, start: TimestampLike | None = None, end: TimestampLike | None = None
    ) -> DataFrame:
        """Refused: a join keeps rows."""
        raise self._refusal()

    def messages(
        self,
        keys: Any = None,
        start: TimestampLike | None = None,
        end: TimestampLike | None = None,
        *,
        start_offset: int | None = None,
        end_offset: int | None = None,
    ) -> DataFrame:
        """Refused: what a join keeps is asked for by side."""
        raise self._refusal()

    def _refusal(self) -> InputError:
        sides = " or ".join(f"kept({one.name!r})" for one, _ in self.sides)
        return InputError(f"inspect: a join keeps rows of its sides, no windows. Ask for {sides}.")


def _watermarks(shard: Shard, name: int) -> pa.Table:
    reached = shard.inputs.watermarks.since
    times = moments(pa.array(list(reached.values()), pa.int64()).to_numpy())
    return pa.table([pa.array([name] * len(reached), pa.int32()), list(reached), times], schema=_WATERMARKS)
