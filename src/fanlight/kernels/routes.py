"""The sizes at which a kernel switches to another route to the same result.

The numbers were measured: they decide what a result costs, never what it is. Benchmarks, and tests that all routes
agree, set other numbers for a while, as `decimal.localcontext` does for decimals:

>>> with rerouted(large_slice=2):
...     ROUTES.get().large_slice
2
>>> ROUTES.get().large_slice
16384
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Routes:
    """The sizes at which kernels switch routes."""

    large_slice: int = 1 << 14
    """From this many rows a slice on, slices are grouped one by one."""
    counted_domain: int = 1 << 20
    """Codes in a domain of up to this size are counted rather than hashed."""
    close_numbers: int = 1 << 16
    """Numbers in a range of up to this size are ranked and sorted by counting; sorted so up to 65,536 only."""
    range_chunk: int = 1 << 16
    """How many rows are scanned at once to merge ranges: few enough that the scans stay in the cache."""
    row_by_row: int = 8
    """Low ranges are merged row by row if they have at most this fraction (one in 8) of all rows together."""
    keys_part: int = 1 << 16
    """How many rows, in whole keys, are processed at once."""
    first_codes: int = 1 << 15
    """How many rows are looked at to see whether their codes repeat."""
    searched_piece: int = 1 << 12
    """How many sorted numbers are searched for at once."""
    front_bytes: int = 1 << 30
    """How many bytes the front of two stacks may take; beyond that, suffixes are merged slice by slice."""
    sorted_whole: int = 1_000
    """Up to this many values are sorted by all their fields to find the greatest; of more, the candidates are."""
    long_run: int = 1 << 8
    """From this many rows a group on, groups that lie one after the other are partitioned one by one."""
    written_out: int = 1 << 16
    """Up to this many (cell, window) pairs are merged directly; beyond that, over two stacks."""


ROUTES = ContextVar("routes", default=Routes())
"""The current sizes."""


@contextmanager
def rerouted(**sizes: int) -> Iterator[None]:
    """Use other sizes inside a `with`, in this thread."""
    before = ROUTES.set(replace(ROUTES.get(), **sizes))
    try:
        yield
    finally:
        ROUTES.reset(before)
