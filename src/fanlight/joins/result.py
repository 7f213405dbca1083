"""What a join gives, and the words that say when its rows leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from fanlight.joins.sides import Join
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.spec import JoinSpec
from fanlight.model.preparation import Intake, Preparation
from fanlight.row_result import RowResult, completed


class JoinResult(RowResult[JoinSpec]):
    """The result of a join. Say `eager()` or `on_close()` for when its rows leave.

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

    def stamped(self, side: Literal["left", "right"]) -> JoinResult:
        """Whose time is the time of a joined row, for what follows."""
        return self._with(stamp=side)

    def _with(self, **said: Any) -> JoinResult:
        assert isinstance(self._reading, Join)
        spec: Any = self.spec  # a dataclass, as every spec is
        return declared(self._reading, replace(spec, **said))


def declared(streams: Join, spec: JoinSpec) -> JoinResult:
    """The pipeline of a join."""
    result = streams.complete(spec, Intake(Preparation(), spec.time))
    assert isinstance(result, JoinResult)
    return result


@completed.register
def _of_join(spec: JoinSpec, run: Any, **read: Any) -> JoinResult:
    return JoinResult(spec, run, **read)
