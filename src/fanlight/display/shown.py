"""What everybody can see of a result: rows as text, flat data frames, a page of a notebook."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol, Self, cast

import pyarrow as pa

from fanlight.display.page import plan_page, result_page
from fanlight.display.plan_html import plan_html
from fanlight.display.preview import picture_of
from fanlight.display.text import as_text
from fanlight.embedded.run import EmbeddedRun
from fanlight.errors import MissingExtra
from fanlight.explain import ToldStage
from fanlight.kernels.flat import flat
from fanlight.operators.accounting import Accounting
from fanlight.viz.own_run import RunsItself

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Counted(Protocol):
    """A stage that counts its records."""

    @property
    def accounting(self) -> Accounting: ...


class Shown(ABC):
    """A result that can be looked at. Whatever it is, it has rows, a plan, and a run that can begin again."""

    @abstractmethod
    def table(self) -> pa.Table:
        """All rows."""

    @abstractmethod
    def told(self) -> ToldStage:
        """What is to be said of the pipeline."""

    @abstractmethod
    def again(self) -> Self:
        """The same pipeline with a run of its own."""

    @abstractmethod
    def embedded_run(self) -> EmbeddedRun:
        """The run in this process."""

    @property
    @abstractmethod
    def is_on_spark(self) -> bool:
        """Whether it runs on Spark."""

    @property
    @abstractmethod
    def is_at_hand(self) -> bool:
        """Whether all that it reads can be read unasked."""

    @property
    @abstractmethod
    def stages(self) -> Sequence[Counted]:
        """The stages of the pipeline, the first first."""

    def show(self, n: int = 20) -> None:
        """Print the first `n` rows, flat: a column for each field of `window` and `pane`. Reads the source as `table`.

        >>> import fanlight as fl
        >>> sales = [{"ts": 5, "shop": "a"}, {"ts": 42, "shop": "b"}, {"ts": 59, "shop": "a"}]
        >>> minutes = fl.stream(sales, time="ts", unit="s").key_by("shop").window(fl.tumbling("1 min"))
        >>> minutes.agg(n=fl.count()).show()
        shop  window_start         window_end           n
        a     1970-01-01 00:00:00  1970-01-01 00:01:00  2
        b     1970-01-01 00:00:00  1970-01-01 00:01:00  1
        2 rows
        """
        sys.stdout.write(as_text(flat(self.table()), n) + "\n")

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a flat data frame of pandas: `window_start` for the `start` of `window`, and so on.

        >>> import fanlight as fl
        >>> counts = fl.stream([{"ts": 5}], time="ts", unit="s").window(fl.tumbling("1 min")).agg(n=fl.count())
        >>> list(counts.to_pandas().columns)
        ['window_start', 'window_end', 'n']
        """
        if find_spec("pandas") is None:
            raise MissingExtra("to_pandas", "pandas", "pandas")
        return cast("pd.DataFrame", flat(self.table()).to_pandas())

    def to_polars(self) -> pl.DataFrame:
        """All rows as a flat data frame of Polars: `window_start` for the `start` of `window`, and so on.

        >>> import fanlight as fl
        >>> counts = fl.stream([{"ts": 5}], time="ts", unit="s").window(fl.tumbling("1 min")).agg(n=fl.count())
        >>> counts.to_polars().columns
        ['window_start', 'window_end', 'n']
        """
        if find_spec("polars") is None:
            raise MissingExtra("to_polars", "polars", "polars")
        import polars as pl

        return cast("pl.DataFrame", pl.from_arrow(flat(self.table())))

    def _repr_html_(self) -> str:
        """What a notebook shows: the plan, and where the records are at hand the first rows and the run as a picture.

        Nothing is read that is gone afterwards or has no end, and no job runs on Spark: then it is the plan alone.
        """
        plan = plan_html(self.told())
        if self.is_on_spark:
            return plan_page("fanlight pipeline", plan, "It runs on Spark: take df, or write_to(…).")
        if not self.is_at_hand:
            return plan_page("fanlight pipeline", plan, "Say show() for the rows, or iterate over it.")
        looked_at = self.again()
        rows = flat(looked_at.table())
        picture = picture_of(cast("RunsItself", self), looked_at.stages[0].accounting.received)
        return result_page(plan, rows, picture)
