"""Calls a user's code: errors, and results that do not fit, are reported with the name of the method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.errors import EngineError, FanlightError
from fanlight.kernels.aggregates.exact_cast import first_lost, may_lose


@dataclass(frozen=True, slots=True)
class UserCode:
    """The code of an aggregate called `name` that works on `column`."""

    name: str
    column: str | None

    @contextmanager
    def blamed(self, method: str) -> Iterator[None]:
        """Name the user's method in whatever it raises; Fanlight's own errors already say what to do."""
        try:
            yield
        except FanlightError:
            raise
        except Exception as error:
            raise EngineError(
                f"{self.name}: `{method}` on `{self.column}` raised {type(error).__name__}: {error}; "
                f"its value would be unknown. Correct `{self.name}.{method}`."
            ) from error

    def fitted(self, items: Iterable[Any], kind: pa.DataType, declared: str, method: str) -> pa.Array:
        """The result of `method` as a column of `kind`, the declared type; an error if a value does not fit exactly."""
        try:
            made = _column(items, kind)
            column = made if made.type == kind else made.cast(kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise EngineError(
                f"{self.name}: `{method}` on `{self.column}` returned {_culprit(items, kind)}, which does not fit "
                f"`{declared}` ({kind}): {error}. {self._remedy(declared)}"
            ) from error
        is_python = isinstance(items, list) or (isinstance(items, np.ndarray) and items.dtype == object)
        given = list(items) if is_python else [] if made.type == kind else made.to_pylist()
        lost = first_lost(given, column) if given and may_lose(kind) else None
        if lost is not None:
            raise EngineError(
                f"{self.name}: `{method}` on `{self.column}` returned {lost[0]!r}, which `{declared}` ({kind}) cannot "
                f"hold: it would become {lost[1]!r}. {self._remedy(declared)}"
            )
        return column

    def _remedy(self, declared: str) -> str:
        if declared == "column":
            return f"Return values of the column's type, or cast `{self.column}` first."
        return f"Return values of that type, or declare another `{declared}`."


def _column(items: Any, kind: pa.DataType) -> pa.Array:
    """The result of a method as an Arrow column: of `kind`, unless it has a type of its own."""
    if isinstance(items, pa.ChunkedArray):
        return items.combine_chunks()
    if isinstance(items, pa.Array):
        return items
    return pa.array(items) if isinstance(items, np.ndarray) and items.dtype != object else pa.array(items, kind)


def _culprit(items: Any, kind: pa.DataType) -> str:
    """Words for the first value that does not fit; or for the fact that each of them fits."""
    for item in items.to_pylist() if isinstance(items, pa.Array | pa.ChunkedArray) else items:
        try:
            pa.array([item], kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            return repr(item)
    return "a column"
