"""The version of a table's row that was valid at a time."""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.errors import SpecError
from fanlight.model.join.as_of import AsOf
from fanlight.model.retention import Retention
from fanlight.model.time.duration import Duration, DurationLike


@dataclass(frozen=True, slots=True)
class Version:
    """A left row matches the version of its key's row that was valid at its time: the newest at or before it.

    rates of EUR     1.08 ──────── 1.10 ──── deleted ───►
    orders                 ●               ●
                           1.08            none

    >>> version()
    Version(refresh=None)
    """

    refresh: Duration | None = None
    """How long after one edition of the whole table the next one comes. None: rows hold until they are changed."""

    def __post_init__(self) -> None:
        if self.refresh is not None and (self.refresh.micros <= 0 or self.refresh.is_forever):
            raise SpecError(
                f"version: `refresh` ({self.refresh}) says how far apart editions of the table are, so it is above "
                "zero and ends. Leave it out if rows hold until they are changed."
            )

    def as_of(self, retention: Retention | None) -> AsOf:
        """The same as an as-of match: a version is valid until the next one, or for `retention`, or until `refresh`."""
        if self.refresh is not None:
            if retention is not None:
                raise SpecError(
                    f"join: `retention` says how long a version without a next one is valid, and with `refresh` "
                    f"({self.refresh}) it is valid for so long. Leave one of the two out."
                )
            return AsOf(Duration(self.refresh.micros - 1))
        return AsOf(Duration.FOREVER).within(Retention() if retention is None else retention)


def version(refresh: DurationLike | None = None) -> Version:
    """Each row gets the version of a table's row that was valid at its time.

    With `refresh` the whole table comes anew, so far apart: a row that the next edition lacks is valid no longer.

    >>> import fanlight as fl
    >>> rates = [{"at": 0, "currency": "EUR", "rate": 1.08}, {"at": 9, "currency": "EUR", "rate": 1.1}]
    >>> orders = fl.stream([{"ts": 5, "currency": "EUR"}], time="ts", unit="s", delay="0 s").key_by("currency")
    >>> table = fl.table(rates, key="currency", time="at", unit="s", delay="0 s")
    >>> orders.join(table, fl.version()).table()["rate"].to_pylist()
    [1.08]
    """
    return Version(None if refresh is None else Duration.of(refresh))
