"""The version of a table's row that was valid at a time."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.model.join.as_of import AsOf
from fanlight.model.retention import Retention
from fanlight.model.time.duration import Duration


@dataclass(frozen=True, slots=True)
class Version:
    """A left row matches the version of its key's row that was valid at its time: the newest at or before it.

    rates of EUR     1.08 ──────── 1.10 ──── deleted ───►
    orders                 ●               ●
                           1.08            none

    >>> version()
    Version()
    """

    def as_of(self, retention: Retention | None) -> AsOf:
        """The same as an as-of match: a version is valid until the next one, or for `retention`."""
        return AsOf(Duration.FOREVER).within(Retention() if retention is None else retention)


def version() -> Version:
    """Each row gets the version of a table's row that was valid at its time.

    >>> import fanlight as fl
    >>> rates = [{"at": 0, "currency": "EUR", "rate": 1.08}, {"at": 9, "currency": "EUR", "rate": 1.1}]
    >>> orders = fl.stream([{"ts": 5, "currency": "EUR"}], time="ts", unit="s", delay="0 s").key_by("currency")
    >>> table = fl.table(rates, key="currency", time="at", unit="s", delay="0 s")
    >>> orders.join(table, fl.version()).table()["rate"].to_pylist()
    [1.08]
    """
    return Version()
