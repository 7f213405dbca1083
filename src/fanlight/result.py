"""The results of windows: they can be grouped again, and their windows can be asked for."""

from __future__ import annotations

from typing import Any

from fanlight.embedded.window_operator import WindowOperator
from fanlight.errors import SpecError
from fanlight.model.continuation import ROW, WINDOW_END, WINDOW_START, carried_windows
from fanlight.model.spec import WindowSpec
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import AtExpiry
from fanlight.model.windows.custom import Custom
from fanlight.model.windows.same import Same
from fanlight.row_result import RowResult, completed
from fanlight.stream import Stream
from fanlight.windowed import Rewindowed


class Result(RowResult[WindowSpec]):
    """A complete pipeline of windows."""

    def rewindow(self) -> Rewindowed:
        """Group these results again, inside the windows they belong to.

        The columns are those of the result, `window_start`, `window_end`, and `row`, the result as one struct. Each
        window fires once, when it is final, unless a `trigger` is said.

        >>> import fanlight as fl
        >>> sales = [{"ts": second, "shop": shop} for second, shop in enumerate("abbcbca")]
        >>> shops = fl.stream(sales, time="ts", unit="s").key_by("shop")
        >>> counts = shops.window(fl.tumbling("1 minute")).agg(n=fl.count())
        >>> best = counts.rewindow().agg(best=fl.top("row", 2, by="n"))
        >>> best.table().column("best").to_pylist()
        [[{'shop': 'b', 'n': 3}, {'shop': 'a', 'n': 2}]]
        """
        spec = self.spec
        changes = spec.as_changes() if spec.replaces else None
        for name in (*spec.keys, *(name for name, _ in spec.aggregates)):
            if name in (WINDOW_START, WINDOW_END, ROW) or (changes is not None and name == changes.op):
                raise SpecError(
                    f"rewindow: the stage before has a column {name!r}, which means something here. Rename it."
                )
        kind = spec.window.origin
        if not kind.is_aligned and changes is not None:
            raise SpecError(
                "rewindow: each key has its own windows in the stage before, and it takes them back as they grow, so "
                "nobody knows when one is final. Let it fire once, or window its results anew, with window(…)."
            )
        time = WINDOW_START if kind.known_by == "start" else WINDOW_END
        inherited = Same(kind) if kind.is_aligned else Custom(carried_windows)
        stream = Stream(self, time, Explicit(), TimeUnit.MICROSECONDS, spec.tick, None, changes=changes)
        return Rewindowed(stream, inherited, spec.lateness, None, AtExpiry(), rules=spec.semantics)

    def operator(self, **options: object) -> WindowOperator:
        """The standalone operator of this pipeline, for feeding by hand."""
        return WindowOperator(self.spec, **self._settings(options))


@completed.register
def _of_windows(spec: WindowSpec, run: Any, **read: Any) -> Result:
    return Result(spec, run, **read)
