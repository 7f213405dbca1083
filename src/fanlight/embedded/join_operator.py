"""The standalone operator of joins: the rows that it keeps can be asked for."""

from __future__ import annotations

import pyarrow as pa

from fanlight.embedded.standalone import StandaloneOperator, alone, looking
from fanlight.model.join.sided import SidedSpec
from fanlight.model.time.timestamp import Timestamp
from fanlight.operators.kept_rows import kept_rows


class StandaloneJoin(StandaloneOperator[SidedSpec]):
    """A join without an engine; the rows it keeps can be looked at.

    >>> import fanlight as fl
    >>> orders, paid = (fl.stream([], time="ts", unit="s", name=name) for name in ("o", "p"))
    >>> operator = orders.join(paid, fl.interval("0 s", "5 s"), on="id").operator()
    >>> operator.add([{"ts": 1, "id": 7}, {"ts": 20, "id": 7}], source="o")
    >>> operator.add([{"ts": 12, "id": 8}], source="p")
    >>> operator.kept()["o"]["ts"].to_pylist()
    [20]
    """

    @alone
    def kept(self) -> dict[str, pa.Table]:
        """The rows that a join by interval keeps, by input: those that may still be matched, or wait to leave."""
        return kept_rows(self._shard)

    @property
    @looking
    def watermarks(self) -> dict[str, Timestamp]:
        """The watermark of each side."""
        return self._shard.inputs.watermarks.since
