"""Whether what a contestant computed is right, looked at while the watch stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pyarrow as pa

from benchmarks.totals import Totals, last_firings


class Audit(Protocol):
    """Looks at the rows of one run."""

    def see(self, table: pa.Table) -> None:
        """Note the rows of one step."""

    def close(self) -> None:
        """Stop everything if they are not what must come out."""


class TotalsAudit:
    """Adds up the rows of one run and compares them with what must come out."""

    def __init__(
        self, name: str, panes: Callable[[pa.Table], pa.Table], expected: Totals, *, repeats: bool = False
    ) -> None:
        """`panes` reads rows as `COLUMNS`; with `repeats` a pane may leave more than once, and the last time counts."""
        self._name = name
        self._panes = panes
        self._expected = expected
        self._repeats = repeats
        self._totals: list[Totals] = []
        self._firings: list[pa.Table] = []

    def see(self, table: pa.Table) -> None:
        """Note the rows of one step. Only where a pane can fire again must they be kept."""
        panes = self._panes(table)
        if self._repeats:
            self._firings.append(panes)
        else:
            self._totals.append(Totals.of(panes))

    def close(self) -> None:
        """Stop everything if a window or a key has other totals than the data."""
        if self._repeats:
            found = Totals.of(last_firings(pa.concat_tables(self._firings)))
        else:
            found = Totals.together(self._totals)
        wanted = self._expected
        for what, ours, theirs in (
            ("windows", found.by_window, wanted.by_window),
            ("keys", found.by_key, wanted.by_key),
        ):
            if not ours.equals(theirs):
                raise SystemExit(
                    f"{self._name}: the totals of its {what} are not those of the data, so no figure "
                    f"stands.\nfound {ours.slice(0, 5).to_pylist()} …\nexpected {theirs.slice(0, 5).to_pylist()} …"
                )
