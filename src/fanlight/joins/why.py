"""Why did these two rows not join? Asked of a pipeline in this process, a standalone join, or a checkpoint on Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from fanlight.embedded.join_operator import StandaloneJoin
from fanlight.errors import OtherEngine, SpecError
from fanlight.joins.kept_evidence import BOTH_ACCEPTED, KeptEvidence, is_part
from fanlight.joins.n_way import NWayJoinResult
from fanlight.joins.result import JoinResult
from fanlight.model.continuation import OP
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.firing import Op
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.sided import SidedSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.why import JoinVerdict, Why
from fanlight.model.preparation import where_of
from fanlight.model.reason import Reason
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import as_text, timestamp
from fanlight.operators.join.interval.pair_check import CheckedPair, Row, checked_pair

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def why(
    asked: JoinResult | NWayJoinResult | StandaloneJoin | str | os.PathLike[str],
    *,
    left: Mapping[str, Any],
    right: Mapping[str, Any],
    spark: SparkSession | None = None,
) -> Why:
    """Why a left row and a right row did not join, or that they did.

    A pipeline in this process reads its source once more. A standalone join, and the checkpoint of a query on Spark,
    are asked for what they keep. Rows are given as they stand in their streams, after `where` and `select`.

    >>> import fanlight as fl
    >>> orders = fl.stream([{"ts": 10, "id": 7}], time="ts", unit="s", name="o").key_by("id")
    >>> paid = fl.stream([{"ts": 95, "id": 7}], time="ts", unit="s", name="p").key_by("id")
    >>> joined = orders.join(paid, fl.interval("0 s", "1 min"))
    >>> print(fl.why(joined, left={"ts": 10, "id": 7}, right={"ts": 95, "id": 7}))
    outside: p is 85 s after o, which is 25 s too late: right time from left time in [0 s, 1 min]
    """
    if isinstance(asked, NWayJoinResult):
        raise _of_two(asked.spec)
    if isinstance(asked, JoinResult):
        if asked.is_on_spark:
            raise OtherEngine("why: this pipeline runs on Spark. Give its checkpoint, as in why('checkpoint/', …).")
        spec = _interval(asked.spec)
        return checked_pair(spec, left, right).obstacle or _replayed(asked, left, right)
    if isinstance(asked, StandaloneJoin):
        spec = _interval(asked.spec)
        pair = checked_pair(spec, left, right)
        return pair.obstacle or _by_hand(asked, KeptEvidence(spec, asked.watermarks), pair, left, right)
    if not isinstance(asked, str | os.PathLike):
        raise SpecError(
            f"why: {type(asked).__name__} is no join. Give the result of join(…), or the path of a checkpoint."
        )
    return _in_checkpoint(asked, left, right, spark)


def _by_hand(asked: StandaloneJoin, state: KeptEvidence, pair: CheckedPair, left: Row, right: Row) -> Why:
    """What a standalone join knows of two rows that match: by its letters that were not taken, and by what it keeps."""
    if not asked.is_bound:  # nothing has come
        return state.of(pair, left, right)
    letters = asked.dead_letters.to_pylist()
    for side, row in ((state.spec.right, right), (state.spec.left, left)):
        if (found := _letter(letters, side.name, _without_op(side, row))) is not None:
            return found
    kept = {name: rows.to_pylist() for name, rows in asked.kept().items()}
    return replace(state, kept=kept).of(pair, left, right)


def _interval(spec: SidedSpec) -> IntervalJoinSpec:
    if isinstance(spec, NWayJoinSpec):
        raise _of_two(spec)
    if not isinstance(spec, IntervalJoinSpec):
        raise SpecError(
            f"why: {type(spec).__name__} matches rows otherwise than by an interval, and only that can be asked why."
        )
    return spec


def _of_two(spec: NWayJoinSpec) -> SpecError:
    first, other, *_ = (side.name for side in spec.sides)
    return SpecError(
        f"why: two rows are looked at, and this join puts rows of {len(spec.sides)} inputs side by side. Ask the join "
        f"of the first with another, as in why({first}.join({other}, …), left=…, right=…)."
    )


def _replayed(asked: JoinResult, left: Row, right: Row) -> Why:
    """What becomes of two rows that match when the source is read once more.

    Nothing is matched in these runs, so that every row that is accepted leaves alone, and leaves as `-D` if a change
    takes it back.
    """
    spec = _interval(asked.spec)
    late = spec.semantics.takes_late
    mode = EmissionMode.EAGER if late else EmissionMode.RETRACTING
    alone = replace(spec, mode=mode, where=where_of(pc.scalar(False)))
    lefts = asked.joined_as(replace(alone, how=JoinType.ANTI, stamp="left"))
    rights = asked.joined_as(replace(alone, how=JoinType.RIGHT, stamp="right"))
    own = [name for name in lefts.table().column_names if name != OP]
    for side, row, wanted, run in (
        (spec.right, right, _in_joined_row(spec, right, own), rights),
        (spec.left, left, left, lefts),
    ):
        leaving = run.table().to_pylist()
        said = [
            Op.INSERT.code if late else record[OP] for record in leaving if is_part(_without_op(side, wanted), record)
        ]
        if said.count(Op.INSERT.code) > said.count(Op.DELETE.code):
            continue
        if said:
            return Why(JoinVerdict.TAKEN_BACK, f"a change has deleted the row of {side.name}")
        found = _letter(run.own_dead_letters.to_pylist(), side.name, _without_op(side, row))
        return found or Why(JoinVerdict.NEVER_CAME, f"there is no such row among those of {side.name}")
    if late:
        pairs = asked.joined_as(replace(spec, how=JoinType.INNER, stamp="left")).table().to_pylist()
        wanted = {**left, **_in_joined_row(spec, right, own)}
        if not any(is_part(wanted, pair) for pair in pairs):
            return Why(JoinVerdict.LATE, "both came, the later one when the other was not kept any more")
    return BOTH_ACCEPTED


def _in_joined_row(spec: IntervalJoinSpec, right: Row, own: list[str]) -> Row:
    """What a right row says, under the names that its columns have in a joined row."""
    keys = dict(zip(spec.right.keys, spec.left.keys, strict=True))
    return {keys.get(name) or spec.right_name(name, own): value for name, value in right.items()}


def _without_op(side: Side, row: Row) -> Row:
    return {name: value for name, value in row.items() if side.changes is None or name != side.changes.op}


def _letter(letters: list[dict[str, Any]], name: str, row: Row) -> Why | None:
    """What the dead letters of a join say of a row."""
    for letter in letters:
        record = letter["record"]
        if not is_part(row, record.get(name)):
            continue
        if letter["reason"] != Reason.EXPIRED.value:
            return Why(JoinVerdict.DEAD_LETTER, f"the row of {name} is a dead letter: {letter['reason']}")
        judged = timestamp(letter["watermark"])
        by = Duration(judged - record["time"])
        return Why(JoinVerdict.LATE, f"the row of {name} came {by} behind its watermark, which was {as_text(judged)}")
    return None


def _in_checkpoint(checkpoint: str | os.PathLike[str], left: Row, right: Row, spark: SparkSession | None) -> Why:
    from fanlight.spark.checkpoint.inspection import inspect
    from fanlight.spark.checkpoint.join_inspection import JoinInspection

    seen = inspect(checkpoint, spark=spark)
    if not isinstance(seen, JoinInspection):
        raise SpecError("why: this checkpoint is not that of a join; only two rows that may join can be asked why.")
    spec = _interval(seen.plan.spec)
    pair = checked_pair(spec, left, right)
    if pair.obstacle is not None:
        return pair.obstacle
    kept = {side.name: _near(seen.kept(side.name), side, row) for side, row in ((spec.left, left), (spec.right, right))}
    reached = dict(_reached(seen.watermarks().toArrow().to_pylist()))
    return KeptEvidence(spec, reached, kept).of(pair, left, right)


def _near(frame: DataFrame, side: Side, row: Row) -> list[dict[str, Any]]:
    """The rows that are kept with the keys of a row."""
    for name in side.keys:
        frame = frame.where(frame[name] == row[name])
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows


def _reached(rows: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """The watermark of each side: all shards are told the same one, and one without records may have heard less."""
    for name in sorted({row["input"] for row in rows}):
        yield name, max(timestamp(row["watermark"]) for row in rows if row["input"] == name)
