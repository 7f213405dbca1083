"""The two protocols that compute an aggregate over groups of rows.

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

    from fanlight.kernels.grouping.groups import Column, Groups, Ints


@runtime_checkable
class Reducer(Protocol):
    """An incremental aggregate, bound to the type of its input.

    A reducer with a fast way to merge many ranges of rows also implements `Scanning` (`kernels.range_merge`).
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
        """Turn rows into one partial for each group; `sizes` is `groups.sizes()`, counted once for all reducers."""
        ...

    def merge(self, partials: list[Column], groups: Groups) -> list[Column]:
        """Merge partials into one for each group."""
        ...

    def combine(self, left: list[Column], right: list[Column]) -> list[Column]:
        """Row i of `left` merged with row i of `right`."""
        ...

    def identity(self, count: int) -> list[Column]:
        """The partials of `count` groups without a record."""
        ...

    def finish(self, partials: list[Column]) -> pa.Array:
        """The values, of type `output`; null where there is none."""
        ...


@runtime_checkable
class Bounded(Protocol):
    """A reducer that may have a value which its type cannot hold, such as a sum beyond int64."""

    def outside(self, partials: list[Column]) -> dict[int, Any]:
        """By row: the exact text of values that `output` cannot hold; `finish` gives null for these."""
        ...


def outside(reducer: Reducer, partials: list[Column]) -> dict[int, Any]:
    """What the reducer's `outside` gives; nothing if all its values fit."""
    return reducer.outside(partials) if isinstance(reducer, Bounded) else {}


@runtime_checkable
class Retractable(Protocol):
    """A reducer that can take rows back: merged with the negated partial of rows, a partial is as if they never came.

    Only what is exact can: floats that are added and subtracted again leave a rest.
    """

    @property
    def takes_back(self) -> bool:
        """Whether it really can; a reducer made of others can if these can."""
        ...

    def negated(self, partials: list[Column]) -> list[Column]:
        """The partials that take back what these add."""
        ...


def takes_back(reducer: Reducer | MessageReducer) -> bool:
    """Whether a reducer takes rows back directly; otherwise its value is computed from the messages that are left."""
    return isinstance(reducer, Retractable) and reducer.takes_back


@runtime_checkable
class MessageReducer(Protocol):
    """An aggregate that needs the records themselves, bound to the type of its input."""

    @property
    def output(self) -> pa.DataType:
        """The type of a value."""
        ...

    def compute(self, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups) -> pa.Array:
        """One value for each group. Rows may be in any order; `arrivals` numbers them in order of arrival."""
        ...


@runtime_checkable
class BoundedMessages(Protocol):
    """An aggregate over messages that may have a value which its type cannot hold."""

    def outside_of(
        self, found: pa.Array, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups
    ) -> dict[int, Any]:
        """By group: the exact text of values that `output` cannot hold; `found` is the result of `compute`."""
        ...


def outside_messages(
    reducer: MessageReducer, found: pa.Array, values: pa.Array, times: Ints, arrivals: Ints, groups: Groups
) -> dict[int, Any]:
    """What the reducer's `outside_of` gives; nothing if all its values fit."""
    if isinstance(reducer, BoundedMessages):
        return reducer.outside_of(found, values, times, arrivals, groups)
    return {}
