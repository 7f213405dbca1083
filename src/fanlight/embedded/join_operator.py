"""The standalone operator of joins: the rows that it keeps can be asked for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from fanlight.embedded.standalone import StandaloneOperator, alone, looking
from fanlight.errors import EngineError
from fanlight.model.join.sided import SidedSpec
from fanlight.model.time.timestamp import Timestamp, TimestampLike
from fanlight.operators.join.frames.looked_into import frame_messages, frame_windows
from fanlight.operators.join.frames.operator import FramesJoin
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

    @alone
    def windows(
        self, side: str, start: TimestampLike | None = None, end: TimestampLike | None = None, *, key: Any = None
    ) -> pa.Table:
        """Of a join by frames, the windows of a side now that overlap `[start, end)`: one of each key, or one.

        Samza's getWindows. `window` is from the least time that it holds to the greatest. `pane` says how many records
        it holds, and where `retention(offsets=…)` names their column, the first and the last offset.
        """
        operator = self._framed("windows")
        return frame_windows(operator, operator.plan, side, start, end, key)

    @alone
    def messages(
        self,
        side: str,
        start: TimestampLike | None = None,
        end: TimestampLike | None = None,
        *,
        key: Any = None,
        start_offset: int | None = None,
        end_offset: int | None = None,
    ) -> pa.Table:
        """Of a join by frames, the records that windows of a side hold with `start <= time < end`.

        Samza's getMessages. Those of one `key`, of a list of several, or of all; and those with
        `start_offset <= offset < end_offset`, where `retention(offsets=…)` names the column of offsets.

        >>> import fanlight as fl
        >>> ships, orders = (fl.stream([], time="ts", unit="s", name=name).key_by("id") for name in ("s", "o"))
        >>> kept = fl.retention("1 h", messages=True, offsets="offset")
        >>> operator = ships.join(orders, fl.frames(s=fl.unbounded(), o=fl.rows(1)), retention=kept).operator()
        >>> operator.add([{"ts": 1, "id": 7}, {"ts": 2, "id": 7}], source="o", offset=1)
        >>> operator.messages("o", key=7).to_pylist(), operator.first_offsets()
        ([{'ts': 2, 'id': 7, 'offset': 2}], {'s': None, 'o': 1})
        >>> operator.windows("o")["pane"].to_pylist()
        [{'records': 1, 'first_offset': 2, 'last_offset': 2}]
        """
        operator = self._framed("messages")
        return frame_messages(operator, operator.plan, side, start, end, key, start_offset, end_offset)

    @alone
    def first_offsets(self) -> dict[str, int | None]:
        """Of a join by frames, the offset of the first record of each side: their streams are aligned there."""
        return self._framed("first_offsets").first_offsets

    def _framed(self, word: str) -> FramesJoin:
        operator = self._shard.require_operator()
        if not isinstance(operator, FramesJoin):
            raise EngineError(
                f"{word}: this join keeps no windows of its sides. Only joins by frames can be asked; kept() has "
                "the rows of one by interval."
            )
        return operator

    @property
    @looking
    def watermarks(self) -> dict[str, Timestamp]:
        """The watermark of each side."""
        return self._shard.inputs.watermarks.since
