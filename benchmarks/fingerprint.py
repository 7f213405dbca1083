"""Rows as one number, the same in whatever order they come: so that results too large to keep can be compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Words = npt.NDArray[np.uint64]
Columns = tuple[npt.NDArray[Any], ...]
"""Columns of eight bytes a value."""

_ODD = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """How many rows there are, and the sum of a number made of each."""

    rows: int = 0
    total: int = 0

    @staticmethod
    def of(columns: Columns) -> Fingerprint:
        """The fingerprint of rows, bit by bit: values that differ in the last place are different.

        >>> one, other = np.array([1, 2]), np.array([0.5, 1.5])
        >>> Fingerprint.of((one, other)) == Fingerprint.of((one[::-1], other[::-1]))
        True
        >>> Fingerprint.of((one, other)) == Fingerprint.of((one, other[::-1]))
        False
        """
        mixed: Words = np.zeros(len(columns[0]), np.uint64)
        for column in columns:
            mixed = _stirred(mixed ^ np.ascontiguousarray(column).view(np.uint64))
        return Fingerprint(len(mixed), int(mixed.sum(dtype=np.uint64)))

    def __add__(self, other: Fingerprint) -> Fingerprint:
        return Fingerprint(self.rows + other.rows, (self.total + other.total) % (1 << 64))


class FingerprintAudit:
    """Compares the fingerprint of a run with that of what must come out."""

    def __init__(self, name: str, read: Callable[[pa.Table], Columns], expected: Fingerprint) -> None:
        self._name = name
        self._read = read
        self._expected = expected
        self._found = Fingerprint()

    def see(self, table: pa.Table) -> None:
        """Note the rows of one step."""
        if len(table):
            self._found += Fingerprint.of(self._read(table))

    def close(self) -> None:
        """Stop everything if a row is missing, too many, or different."""
        if self._found != self._expected:
            raise SystemExit(
                f"{self._name}: its {self._found.rows:,} rows are not the {self._expected.rows:,} of the definition, "
                "so no figure stands."
            )


def _stirred(words: Words) -> Words:
    """Every bit of a word depends on every bit of it."""
    words = words + np.uint64(_ODD[0])
    words = (words ^ (words >> np.uint64(30))) * np.uint64(_ODD[1])
    words = (words ^ (words >> np.uint64(27))) * np.uint64(_ODD[2])
    return words ^ (words >> np.uint64(31))
