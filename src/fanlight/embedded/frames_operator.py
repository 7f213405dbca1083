"""The standalone operator of joins by frames: its windows and their messages can be asked for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from fanlight.embedded.join_operator import StandaloneJoin
from fanlight.embedded.standalone import alone
from fanlight.model.time.timestamp import TimestampLike
from fanlight.operators.join.frames.looked_into import frame_messages, frame_windows
from fanlight.operators.join.frames.operator import FramesJoin


class StandaloneFrames(StandaloneJoin):
    """A join by frames without an engine; what its windows hold can be looked at.

    >>> import fanlight as fl
    >>> ships, orders = (fl.stream([], time="ts", unit="s", name=name).key_by("id") for name in ("s", "o"))
    >>> kept = fl.retention("1 h", messages=True, offsets="offset")
    >>> operator = ships.join(orders, fl.frames(s=fl.unbounded(), o=fl.rows(1)), retention=kept).operator()
    >>> operator.add([{"ts": 1, "id": 7}, {"ts": 2, "id": 7}], source="o", offset=1)
    >>> operator.windows("o")["pane"].to_pylist()
    [{'records': 1, 'first_offset': 2, 'last_offset': 2}]
    >>> operator.messages("o", key=7).to_pylist(), operator.first_offsets()
    ([{'ts': 2, 'id': 7, 'offset': 2}], {'s': None, 'o': 1})
    """

    @alone
    def windows(
        self, side: str, start: TimestampLike | None = None, end: TimestampLike | None = None, *, key: Any = None
    ) -> pa.Table:
        """The windows of a side now that overlap `[start, end)`: one of each key, or the one of the side.

        Samza's getWindows. `window` is from the least time that it holds to the greatest. `pane` says how many records
        it holds, and where `retention(offsets=…)` names their column, the first and the last offset.
        """
        operator = self._framed()
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
        """The records that the windows of a side hold with `start <= time < end`, of one key, of several, or of all.

        Samza's getMessages. Those with `start_offset <= offset < end_offset`, where `retention(offsets=…)` names the
        column of offsets.
        """
        operator = self._framed()
        return frame_messages(operator, operator.plan, side, start, end, key, start_offset, end_offset)

    @alone
    def first_offsets(self) -> dict[str, int | None]:
        """The offset of the first record that came of each side: where their streams are aligned."""
        return self._framed().first_offsets

    def _framed(self) -> FramesJoin:
        operator = self._shard.require_operator()
        assert isinstance(operator, FramesJoin)
        return operator
