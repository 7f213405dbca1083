"""What a join gives, and the words that say when its rows leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from fanlight.embedded.join_operator import StandaloneJoin
from fanlight.errors import SpecError
from fanlight.joins.sides import Join
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.aggregates.code import UserBatch
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.model.join.semantics import JoinSemantics
from fanlight.model.join.sides import Stamp
from fanlight.model.join.spec import JoinSpec
from fanlight.model.preparation import Intake, Preparation
from fanlight.model.triggers import Trigger
from fanlight.row_result import RowResult, completed


class JoinResult(RowResult[JoinSpec]):
    """The result of a join. Say `eager()`, `on_close()` or `retracting()` for when its rows leave.

    >>> import fanlight as fl
    >>> orders = fl.stream([{"ts": 1, "id": 7}], time="ts", unit="s", name="o")
    >>> paid = fl.stream([{"ts": 3, "id": 7, "cents": 5}], time="ts", unit="s", name="p")
    >>> orders.join(paid, fl.interval("0 s", "5 s"), on="id", how="left").on_close().table()["cents"].to_pylist()
    [5]
    """

    def eager(self) -> JoinResult:
        """A pair leaves as soon as both rows are here; a row without a match when none can come any more."""
        return self._with(mode=EmissionMode.EAGER)

    def on_close(self) -> JoinResult:
        """Every row leaves when it is complete, in the order of the left rows."""
        return self._with(mode=EmissionMode.ON_CLOSE)

    def retracting(self) -> JoinResult:
        """Every row leaves at once, and is taken back when it is no row of the join any more.

        An order without a payment leaves with nulls; when its payment comes it is taken back, and the pair leaves. The
        result is a stream of changes: its column `op` says what a row does.

        >>> import fanlight as fl
        >>> orders = fl.stream([{"ts": 1, "id": 7}], time="ts", unit="s", name="o")
        >>> paid = fl.stream([{"ts": 0, "id": 0, "cents": 0}, {"ts": 3, "id": 7, "cents": 5}], time="ts", unit="s",
        ...                  rows=1, delay="0 s", name="p")
        >>> shown = orders.join(paid, fl.interval("0 s", "5 s"), on="id", how="left").retracting()
        >>> [(row["op"], row["id"], row["cents"]) for row in shown.table().to_pylist()]
        [('+I', 7, None), ('-D', 7, None), ('+I', 7, 5)]
        """
        return self._with(mode=EmissionMode.RETRACTING)

    def stamped(self, time: Stamp) -> JoinResult:
        """Whose time is the time of a joined row, for what follows.

        That of its `"left"` or `"right"` row; or the `"least"` or `"greatest"` of those that it has, which then stands
        in a column `joined_time`.
        """
        return self._with(stamp=time)

    def semantics(self, rules: JoinSemantics | str) -> JoinResult:
        """Answer the questions peers disagree on as one of them does: 'flink', 'flink_sql', 'kafka' and so on.

        Where late records are taken, rows leave eagerly, as they do there.
        """
        if not isinstance(self.spec, IntervalJoinSpec):
            raise SpecError(
                "semantics: the answers of peers are about interval joins. Use interval(…), or leave it out."
            )
        said = JoinSemantics.named(rules) if isinstance(rules, str) else rules
        mode = EmissionMode.EAGER if said.takes_late else self.spec.mode
        return self._with(semantics=said, mode=mode)

    def operator(self, **options: object) -> StandaloneJoin:  # type: ignore[override]  # that of every join
        """The standalone operator of this join, for feeding by hand: `add(records, source="o")` names the side."""
        return StandaloneJoin(self.spec, **self._settings(options))

    def agg(self, **aggregates: Aggregate) -> JoinResult:
        """In the place of pairs, each left row with these aggregates over its matches; it leaves on close.

        Columns are those of the right side, as `s.bid` where that is called `s`, or `bid`. A left row without a match
        leaves with aggregates of nothing in a left join, and not at all in an inner one.

        >>> import fanlight as fl
        >>> trades = fl.stream([{"ts": 9, "id": 7}], time="ts", unit="s", name="t")
        >>> some = [{"ts": 3, "id": 7, "bid": 5}, {"ts": 8, "id": 7, "bid": 4}]
        >>> bids = fl.stream(some, time="ts", unit="s", name="s")
        >>> near = trades.join(bids, fl.interval("-10 s", "0 s"), on="id")
        >>> near.agg(high=fl.max("s.bid"), n=fl.count()).table().to_pylist()
        [{'ts': 9, 'id': 7, 'high': 5, 'n': 2}]
        """
        assert isinstance(self._reading, Join)
        return declared(self._reading, AggregatedJoinSpec.of(self.spec, aggregates))

    def updates(self, *, early: Trigger | None = None, late: Trigger | None = None) -> JoinResult:
        """Of a join by frames: let pairs leave at each period of the clock, as in `early=every('1 min')`.

        `early` is about pairs of records on time, `late` about those that a record makes which came behind the
        watermark of its side. What is left out leaves at once.

        >>> import fanlight as fl
        >>> ships, orders = (fl.stream([], time="ts", unit="s", name=name) for name in ("s", "o"))
        >>> joined = ships.join(orders, fl.frames(s=fl.range("1 min"), o=fl.range("1 min")), on="id")
        >>> operator = joined.updates(early=fl.every("1 min")).operator()
        >>> operator.add([{"ts": 1, "id": 7}], source="o", clock=10_000_000)
        >>> operator.add([{"ts": 2, "id": 7}], source="s")
        >>> operator.take().num_rows
        0
        >>> operator.advance(clock=60_000_000)
        >>> operator.take().num_rows
        1
        """
        return self._framed("updates", early=early, late=late)

    def batch(self, function: Callable[[Any], Any], schema: Any) -> JoinResult:
        """Of a join by frames: in the place of pairs, what a function makes of those that leave together.

        It gets them as one Arrow table, and returns a table with the columns of `schema`. Which pairs stand in one
        table is not promised: what it makes of one should not depend on the others.

        >>> import fanlight as fl
        >>> import pyarrow as pa, pyarrow.compute as pc
        >>> ships = fl.stream([{"ts": 1, "id": 7, "cost": 2}], time="ts", unit="s", name="s")
        >>> orders = fl.stream([{"ts": 1, "id": 7, "value": 5}], time="ts", unit="s", name="o")
        >>> joined = ships.join(orders, fl.frames(s=fl.range("1 min"), o=fl.range("1 min")), on="id")
        >>> def margin(matches):
        ...     return pa.table({"id": matches["id"], "margin": pc.subtract(matches["value"], matches["cost"])})
        >>> joined.batch(margin, pa.schema({"id": pa.int64(), "margin": pa.int64()})).table().to_pylist()
        [{'id': 7, 'margin': 3}]
        """
        if not isinstance(schema, pa.Schema):
            raise SpecError(
                f"batch: {schema!r} is no Arrow schema, so what the function returns has no columns. Give one, as in "
                "batch(function, pyarrow.schema({'id': pyarrow.int64()}))."
            )
        return self._framed("batch", function=UserBatch(None, function, pa.struct(list(schema))))

    def _framed(self, word: str, **said: Any) -> JoinResult:
        if not isinstance(self.spec, FramesJoinSpec):
            raise SpecError(
                f"{word}: it is about pairs of windows, and these rows match otherwise. Say join(…, frames(…)), or "
                "leave it out."
            )
        return self._with(**said)

    def _with(self, **said: Any) -> JoinResult:
        spec: Any = self.spec  # a dataclass, as every spec is
        return self.joined_as(replace(spec, **said))

    def joined_as(self, spec: JoinSpec) -> JoinResult:
        """The same streams, joined as another spec says."""
        assert isinstance(self._reading, Join)
        return declared(self._reading, spec)


def declared(streams: Join, spec: JoinSpec) -> JoinResult:
    """The pipeline of a join."""
    result = streams.complete(spec, Intake(Preparation(), spec.time))
    assert isinstance(result, JoinResult)
    return result


@completed.register
def _of_join(spec: JoinSpec, run: Any, **read: Any) -> JoinResult:
    return JoinResult(spec, run, **read)
