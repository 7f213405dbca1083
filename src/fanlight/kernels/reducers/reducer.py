"""What computes an aggregate over groups of rows: the two protocols.

An incremental aggregate is a commutative monoid of partials:

    rows ──partial──► partials ──merge──► partials ──finish──► values
                         ▲ │
                         └─┘ combine, identity

Merging the partials of any split of the rows gives the partial of the whole: exactly for integers, decimals,
booleans, text and times, to rounding for floats. The identity changes nothing it is merged with.

A partial is one row over a few columns. Types of fixed width lie in NumPy arrays that hold identity elements
where there is no value, beside a column `n` that counts the values; so nulls appear only when a partial is finished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    import pyarrow as pa

    from fanlight.kernels.groups import Column, Groups, Ints


@runtime_checkable
class Reducer(Protocol):
    """An incremental aggregate, bound to the type of its input.

    It may have a way of its own to merge many ranges of rows: then it is `Scanning` too (`kernels.ranges_scanning`).
    """

    @property
    def fields(self) -> tuple[pa.Field, ...]:
        """The columns of a partial, in order; their names are the reducer's own."""
        ...

    @property
    def output(self) -> pa.DataType:
        """The type of a finished value."""
        ...

    def partial(self, values: pa.Array | None, times: Ints, groups: Groups, sizes: Ints) -> list[Column]:
        """Rows to one partial for each group; `sizes` is `groups.sizes()`, counted once for all reducers."""
        ...

    def merge(self, partials: list[Column], groups: Groups) -> list[Column]:
        """Partial rows to one partial for each group."""
        ...

    def combine(self, left: list[Column], right: list[Column]) -> list[Column]:
        """Row i of `left` merged with row i of `right`."""
        ...

    def identity(self, count: int) -> list[Column]:
        """The partials of `count` panes that saw nothing."""
        ...

    def finish(self, partials: list[Column]) -> pa.Array:
        """The values, of type `output`; null where there is none."""
        ...


@runtime_checkable
class Bounded(Protocol):
    """A reducer whose value may be one that its type cannot hold, such as a sum beyond int64."""

    def outside(self, partials: list[Column]) -> dict[int, Any]:
        """By row, the values that `output` cannot hold, in exact words; `finish` gives null there."""
        ...


def outside(reducer: Reducer, partials: list[Column]) -> dict[int, Any]:
    """What the reducer's `outside` gives; nothing if all its values fit."""
    return reducer.outside(partials) if isinstance(reducer, Bounded) else {}


@runtime_checkable
class MessageReducer(Protocol):
    """An aggregate that needs the records themselves, bound to the type of its input."""

    @property
    def output(self) -> pa.DataType:
        """The type of a value."""
        ...

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        """One value for each group, in whatever order the rows lie; `arrivals` numbers them as they came."""
        ...


@runtime_checkable
class BoundedMessages(Protocol):
    """An aggregate over messages whose value may be one that its type cannot hold."""

    def outside_of(
        self, found: pa.Array, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups
    ) -> dict[int, Any]:
        """By group, the values that `output` cannot hold, in exact words; `found` is what `compute` gave."""
        ...


def outside_messages(
    reducer: MessageReducer, found: pa.Array, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups
) -> dict[int, Any]:
    """What the reducer's `outside_of` gives; nothing if all its values fit."""
    if isinstance(reducer, BoundedMessages):
        return reducer.outside_of(found, values, times, arrivals, groups)
    return {}
