"""Whether what a contestant computed is right, looked at while the watch stands still."""

from __future__ import annotations

import pyarrow as pa

from benchmarks.contestants import Contestant
from benchmarks.totals import Totals, last_firings


class Audit:
    """Adds up the rows of one run and compares them with what must come out."""

    def __init__(self, contestant: Contestant) -> None:
        self._contestant = contestant
        self._totals: list[Totals] = []
        self._firings: list[pa.Table] = []

    def see(self, table: pa.Table) -> None:
        """Note the rows of one step. Only where a pane can fire again must they be kept."""
        panes = self._contestant.panes(table)
        if self._contestant.repeats:
            self._firings.append(panes)
        else:
            self._totals.append(Totals.of(panes))

    def close(self) -> None:
        """Stop everything if a window or a key has other totals than the data."""
        if self._contestant.repeats:
            found = Totals.of(last_firings(pa.concat_tables(self._firings)))
        else:
            found = Totals.together(self._totals)
        wanted = self._contestant.expected
        for what, ours, theirs in (
            ("windows", found.by_window, wanted.by_window),
            ("keys", found.by_key, wanted.by_key),
        ):
            if not ours.equals(theirs):
                raise SystemExit(
                    f"{self._contestant.name}: the totals of its {what} are not those of the data, so no figure "
                    f"stands.\nfound {ours.slice(0, 5).to_pylist()} …\nexpected {theirs.slice(0, 5).to_pylist()} …"
                )
