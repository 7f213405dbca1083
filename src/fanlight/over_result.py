"""The result of `over`: it says when its rows leave, and another frame can share its pass."""

from __future__ import annotations

from typing import Any

from fanlight.errors import SpecError
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.over.spec import OverSpec
from fanlight.model.time.duration import DurationLike
from fanlight.over import OverRows
from fanlight.row_result import RowResult, completed


class OverResult(RowResult[OverSpec]):
    """A complete pipeline of rows with new columns. Each row leaves when nothing can change it, unless it is told.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> sales.over(fl.range("1 min")).add(so_far=fl.sum("price")).eager().table()["so_far"].to_pylist()
    [3, 8]
    """

    def on_close(self) -> OverResult:
        """Each row leaves once, when nothing can change it any more. This is how rows leave if nothing is said."""
        return self._declared().emitted(EmissionMode.ON_CLOSE)

    def eager(self) -> OverResult:
        """Each row leaves at once, in the order rows come, with what is known by then; it is never corrected.

        >>> import fanlight as fl
        >>> paid = [{"ts": 9, "price": 4}, {"ts": 5, "price": 8}, {"ts": 9, "price": 1}]
        >>> stream = fl.stream(paid, time="ts", unit="s", rows=1, delay="1 min")
        >>> stream.over(fl.range("10 s")).add(n=fl.count()).eager().table().select(["ts", "n"]).to_pylist()
        [{'ts': 9, 'n': 1}, {'ts': 5, 'n': 1}, {'ts': 9, 'n': 3}]
        """
        return self._declared().emitted(EmissionMode.EAGER)

    def retracting(self, retention: DurationLike | None = None) -> OverResult:
        """Each row leaves at once; whenever its values change, it is taken back (`-U`) and leaves anew (`+U`).

        Rows can be corrected until the watermark is `retention` past them, and late records are taken until then. The
        result is a stream of changes: its column `op` says what a row does.

        >>> import fanlight as fl
        >>> paid = [{"ts": 9, "price": 4}, {"ts": 5, "price": 8}]
        >>> stream = fl.stream(paid, time="ts", unit="s", rows=1, delay="0 s")
        >>> total = stream.over(fl.range("10 s")).add(total=fl.sum("price")).retracting(retention="1 min")
        >>> [(row["op"], row["ts"], row["total"]) for row in total.table().to_pylist()]
        [('+I', 9, 4), ('+I', 5, 8), ('-U', 9, 4), ('+U', 9, 12)]
        """
        return self._declared().emitted(EmissionMode.RETRACTING, retention)

    def _declared(self) -> OverRows:
        if not isinstance(self.over_rows, OverRows):
            raise SpecError(
                "over: this pipeline was declared by its spec, which says when rows leave. Use another spec, with "
                "`mode` and `retention`."
            )
        return self.over_rows


@completed.register
def _of_over(spec: OverSpec, run: Any, **read: Any) -> OverResult:
    return OverResult(spec, run, **read)
