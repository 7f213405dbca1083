"""A user's code at work: whatever it raises or returns amiss is told with the name of the method."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fanlight.errors import EngineError, FanlightError


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
        """What `method` returned as a column of `kind`, which is what `declared` says."""
        try:
            array = items.combine_chunks() if isinstance(items, pa.ChunkedArray) else items
            array = array if isinstance(array, pa.Array) else pa.array(array, kind)
            return array if array.type == kind else array.cast(kind)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
            raise EngineError(
                f"{self.name}: `{method}` returned what does not fit `{declared}` ({kind}): {error}. "
                f"Return values of that type, or declare another `{declared}`."
            ) from error
