"""The standalone operator of windows: what its panes hold can be asked for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from fanlight.embedded.standalone import StandaloneOperator, alone
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import TimestampLike


class WindowOperator(StandaloneOperator[WindowSpec]):
    """A window operator without an engine; its windows can be queried.

    >>> import fanlight as fl
    >>> spec = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 minute")).agg(n=fl.count()).spec
    >>> operator = WindowOperator(spec)
    >>> operator.add([{"ts": 10}, {"ts": 50}])
    >>> operator.add([{"ts": 70}])
    >>> operator.take().column("n").to_pylist()
    [2]
    """

    @alone
    def windows(
        self, start: TimestampLike | None = None, end: TimestampLike | None = None, *, key: Any = None
    ) -> pa.Table:
        """The windows that overlap `[start, end)`, with their content now: live and retained ones, of a key or of all.

        Where `retention(offsets=…)` keeps the offsets of messages, `pane` has the first and the last of each window.
        """
        return self._shard.require_operator().windows(self._shard.watermark, start, end, key)

    @alone
    def messages(
        self,
        start: TimestampLike | None = None,
        end: TimestampLike | None = None,
        *,
        key: Any = None,
        start_offset: int | None = None,
        end_offset: int | None = None,
    ) -> pa.Table:
        """The stored records with `start <= time < end`, of one key or of all, by time and arrival.

        Those with `start_offset <= offset < end_offset`, where `retention(offsets=…)` keeps their offsets.
        """
        return self._shard.require_operator().messages(start, end, key, start_offset, end_offset)
