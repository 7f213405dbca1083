"""The results of windows: they can be grouped again, and their windows can be asked for."""

from __future__ import annotations

from typing import Any, Literal, cast

from fanlight.embedded.window_operator import WindowOperator
from fanlight.errors import SpecError
from fanlight.model.continuation import ROW, WINDOW_END, WINDOW_START, carried_windows
from fanlight.model.enum_word import choice
from fanlight.model.fill import FillSpec, FillWith
from fanlight.model.preparation import Intake, Preparation
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration, DurationLike
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Explicit
from fanlight.model.triggers import AtExpiry
from fanlight.model.windows.custom import Custom
from fanlight.model.windows.same import Same
from fanlight.row_result import RowResult, completed
from fanlight.stream import Stream
from fanlight.windowed import Rewindowed


class Result(RowResult[WindowSpec]):
    """A complete pipeline of windows.

    >>> import fanlight as fl
    >>> counts = fl.stream([{"ts": 1}], time="ts", unit="s").window(fl.tumbling("1 min")).agg(n=fl.count())
    >>> counts.table()["n"].to_pylist()
    [1]
    """

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
        return _rewindowed(self, self.spec)

    def fill(self, how: Literal["null", "last", "linear"], *, longest: DurationLike | None = None) -> Filled:
        """A row also for windows in which nothing came, between the first and the newest window of each key.

        Its values are null, the last ones, or numbers on the line between the windows around the gap. It leaves with
        the next window of its key. A gap `longest` long or shorter is filled; after a longer one the key starts anew.

        >>> import fanlight as fl
        >>> sales = [{"ts": 5, "price": 3.0}, {"ts": 185, "price": 9.0}]
        >>> minutes = fl.stream(sales, time="ts", unit="s").window(fl.tumbling("1 min")).agg(mean=fl.avg("price"))
        >>> minutes.fill("linear", longest="1 h").table().column("mean").to_pylist()
        [3.0, 5.0, 7.0, 9.0]
        """
        spec = FillSpec(
            self.spec,
            choice(FillWith, how, "fill"),
            None if longest is None else Duration.of(longest),
            self.spec.keys,
        )
        return cast("Filled", self.complete(spec, Intake(Preparation(), spec.time)))

    def operator(self, **options: object) -> WindowOperator:
        """The standalone operator of this pipeline, for feeding by hand.

        >>> import fanlight as fl
        >>> minutes = fl.stream([], time="ts", unit="s").window(fl.tumbling("1 min")).agg(n=fl.count())
        >>> operator = minutes.operator()
        >>> operator.add([{"ts": 5}, {"ts": 42}, {"ts": 61}])
        >>> operator.take()["n"].to_pylist()
        [2]
        """
        return WindowOperator(self.spec, **self._settings(options))


class Filled(RowResult[FillSpec]):
    """The results of windows with their gaps filled: rows like those of the windows."""

    def rewindow(self) -> Rewindowed:
        """Group these results again, inside the windows they belong to, as results of windows can be."""
        return _rewindowed(self, self.spec.windows)


def _rewindowed(result: RowResult[Any], spec: WindowSpec) -> Rewindowed:
    """The results of the windows of `spec`, grouped again inside their windows."""
    changes = spec.as_changes() if spec.replaces else None
    for name in (*spec.keys, *(name for name, _ in spec.aggregates)):
        if name in (WINDOW_START, WINDOW_END, ROW) or (changes is not None and name == changes.op):
            raise SpecError(f"rewindow: the stage before has a column {name!r}, which means something here. Rename it.")
    kind = spec.window.origin
    if not kind.is_aligned and changes is not None:
        raise SpecError(
            "rewindow: each key has its own windows in the stage before, and it takes them back as they grow, so "
            "nobody knows when one is final. Let it fire once, or window its results anew, with window(…)."
        )
    time = WINDOW_START if kind.known_by == "start" else WINDOW_END
    inherited = Same(kind) if kind.is_aligned else Custom(carried_windows)
    stream = Stream(result, time, Explicit(), TimeUnit.MICROSECONDS, spec.tick, None, changes=changes)
    return Rewindowed(stream, inherited, spec.lateness, None, AtExpiry(), rules=spec.semantics)


@completed.register
def _of_windows(spec: WindowSpec, run: Any, **read: Any) -> Result:
    return Result(spec, run, **read)


@completed.register
def _of_filled(spec: FillSpec, run: Any, **read: Any) -> Filled:
    return Filled(spec, run, **read)
