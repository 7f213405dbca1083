"""Aggregates in a user's own code: a class with four methods, a function folded over values, one of whole tables."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

from fanlight.errors import SpecError
from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.continuation import RECORD


@dataclass(frozen=True)
class UserAggregate(Aggregate):
    """A user's own aggregate: subclass it, name the two Arrow types, write four methods.

    `state_type` and `output_type` are Arrow types, so that state is stored as columns, never pickled. The
    row-wise form is `zero`, `add`, `merge`, `finish`. The vectorised one is `add_batch(states, values, groups, count)`:
    it gets one fresh state for each group, all values and each value's group, and returns the new states. `retraction`
    may say what a row that takes a value back carries.

    >>> import fanlight as fl
    >>> import pyarrow as pa
    >>> class Product(fl.UserAggregate):
    ...     state_type = output_type = pa.int64()
    ...
    ...     def zero(self):
    ...         return 1
    ...
    ...     def add(self, state, value):
    ...         return state * value
    ...
    ...     def merge(self, left, right):
    ...         return left * right
    ...
    ...     def finish(self, state):
    ...         return state
    >>> sizes = fl.stream([{"ts": 1, "n": 3}, {"ts": 2, "n": 5}], time="ts", unit="s")
    >>> sizes.window(fl.tumbling("1 min")).agg(x=Product("n")).table()["x"].to_pylist()
    [15]
    """

    state_type: ClassVar[Any] = None
    output_type: ClassVar[Any] = None

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        for name in ("state_type", "output_type"):
            if getattr(self, name) is None:
                raise SpecError(
                    f"{type(self).__name__}: `{name}` is missing. Set it to an Arrow type, such as pyarrow.float64()."
                )

    @property
    def retracts_otherwise(self) -> bool:
        """Whether a subclass says what a row carries that takes a value back."""
        return type(self).retraction is not UserAggregate.retraction

    def zero(self) -> Any:
        """The state of a pane that has seen nothing."""
        raise SpecError(f"{type(self).__name__}: `zero` is missing. Return the state of an empty pane.")

    def add(self, state: Any, value: Any) -> Any:
        """The state after one more value."""
        raise SpecError(f"{type(self).__name__}: `add` is missing. Return the state after one more value.")

    def merge(self, left: Any, right: Any) -> Any:
        """The state of two panes together."""
        raise SpecError(f"{type(self).__name__}: `merge` is missing. Return the state of both together.")

    def finish(self, state: Any) -> Any:
        """The result of a state."""
        raise SpecError(f"{type(self).__name__}: `finish` is missing. Return the result of a state.")

    def retraction(self, value: Any) -> Any:
        """The value of a row that takes `value` back: the value itself, unless a subclass says otherwise."""
        return value


@dataclass(frozen=True, slots=True)
class UserFold(Aggregate):
    """A function folded over the values, by event time and, at one time, as they arrived.

    Without `joins` the records are kept, and the fold is made anew for each firing. With it only the state is kept, and
    values are taken as they come: then neither the order of values nor that of states may matter.
    """

    start: Any = None
    function: Callable[[Any, Any], Any] | None = None
    output_type: Any = None
    """The Arrow type of the state, which is also the result."""
    joins: Callable[[Any, Any], Any] | None = None

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        _require_function("UserFold", self.function)
        if self.output_type is None:
            raise SpecError(
                "UserFold: `output_type` is missing, so the state has no column to be kept in. "
                "Set it to an Arrow type, such as pyarrow.float64()."
            )

    @property
    def needs_messages(self) -> bool:
        """Whether the records must be kept, because their order counts."""
        return self.joins is None

    @property
    def heeds_arrival(self) -> bool:
        """At one time, as values arrived; unless states can be joined in any order."""
        return self.joins is None

    @property
    def state_type(self) -> Any:
        """The Arrow type of the state."""
        return self.output_type

    def zero(self) -> Any:
        """The state of a pane that has seen nothing; its own, so that `function` may change it in place."""
        return deepcopy(self.start)

    def add(self, state: Any, value: Any) -> Any:
        """The state after one more value."""
        assert self.function is not None
        return self.function(state, value)

    def merge(self, left: Any, right: Any) -> Any:
        """The state of two panes together."""
        assert self.joins is not None
        return self.joins(left, right)

    def finish(self, state: Any) -> Any:
        """The result of a state."""
        return state

    def retraction(self, value: Any) -> Any:
        """The value of a row that takes `value` back."""
        return value


@dataclass(frozen=True, slots=True)
class UserReduce(Aggregate):
    """The values combined two by two, in order of event time, then arrival; the result has the type of the column."""

    function: Callable[[Any, Any], Any] | None = None
    of_messages: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        _require_function("UserReduce", self.function)

    @property
    def heeds_arrival(self) -> bool:
        """At one time, as values arrived."""
        return True


@dataclass(frozen=True, slots=True)
class UserBatch(Aggregate):
    """A function of all rows of a pane as one Arrow table, in order of event time, then arrival; called once a pane."""

    function: Callable[[Any], Any] | None = None
    output_type: Any = None
    """The Arrow type of what the function returns."""
    names: tuple[str, ...] = ()
    """The columns of the table; none: all columns of the records."""
    takes: ClassVar[int] = 0
    of_messages: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Aggregate.__post_init__(self)
        if not callable(self.function):
            raise SpecError(
                f"batch: {self.function!r} cannot be called. Give a function of an Arrow table, as in "
                "batch(lambda table: table.num_rows, pyarrow.int64())."
            )
        if not _is_arrow_type(self.output_type):
            raise SpecError(
                f"batch: {self.output_type!r} is no Arrow type, so what the function returns has no column. "
                "Give one, as in batch(function, pyarrow.float64()); columns come after it."
            )
        for name in self.names:
            if not isinstance(name, str):
                raise SpecError(f"batch: {name!r} is no column name. Use text, as in batch(function, type, 'price').")
            if self.names.count(name) > 1:
                raise SpecError(f"batch: the column {name!r} is named twice, and a table has it once. Name it once.")
        if self.column is not None:
            raise SpecError(f"batch: `column` ({self.column!r}) is one of several here. Use `names`.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that were named, or that of whole records."""
        return self.names or (RECORD,)

    @property
    def heeds_arrival(self) -> bool:
        """At one time, as rows arrived."""
        return True

    @property
    def needs_complete_panes(self) -> bool:
        """It sees a pane once, when all of its rows are there."""
        return True

    @property
    def needs_whole_records(self) -> bool:
        """Where no columns are named."""
        return not self.names


def fold(
    column: str,
    zero: Any,
    function: Callable[[Any, Any], Any],
    output_type: Any,
    *,
    merge: Callable[[Any, Any], Any] | None = None,
) -> UserFold:
    """`function(state, value)` over the values of `column`, from `zero` on; the state has the Arrow type `output_type`.

    Values come by event time, then arrival, and the records are kept for that. Give `merge(state, state)` where order
    does not matter, and only states are kept.

    >>> import fanlight as fl
    >>> import pyarrow as pa
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}], time="ts", unit="s")
    >>> squares = fl.fold("price", 0, lambda state, value: state + value**2, output_type=pa.int64())
    >>> sales.window(fl.tumbling("1 min")).agg(x=squares).table()["x"].to_pylist()
    [34]
    """
    return UserFold(column, zero, function, output_type, merge)


def reduce(column: str, function: Callable[[Any, Any], Any]) -> UserReduce:
    """`function(value, value)` over the values of `column` by event time, then arrival; their type stays.

    >>> import fanlight as fl
    >>> sales = fl.stream([{"ts": 1, "price": 3}, {"ts": 2, "price": 5}, {"ts": 3, "price": 5}], time="ts", unit="s")
    >>> product = fl.reduce("price", lambda one, other: one * other)
    >>> sales.window(fl.tumbling("1 min")).agg(x=product).table()["x"].to_pylist()
    [75]
    """
    return UserReduce(column, function)


def batch(function: Callable[[Any], Any], output_type: Any, *columns: str) -> UserBatch:
    """`function(table)` of all rows of a window as one Arrow table; its value has the Arrow type `output_type`.

    Rows are in order of event time, then arrival. The table has these `columns`, or all: only they are kept. Windows
    must fire once.

    >>> import fanlight as fl
    >>> import pyarrow as pa
    >>> sales = [{"ts": 1, "price": 3}, {"ts": 9, "price": 8}, {"ts": 5, "price": 4}]
    >>> change = fl.batch(lambda table: table["price"][-1].as_py() - table["price"][0].as_py(), pa.int64(), "price")
    >>> minutes = fl.stream(sales, time="ts", unit="s").window(fl.tumbling("1 min")).agg(change=change)
    >>> minutes.table().column("change").to_pylist()
    [5]
    """
    return UserBatch(None, function, output_type, columns)


def _is_arrow_type(value: object) -> bool:
    """Whether this is an Arrow type, told by the name of its class: the model imports no Arrow."""
    roots = [(kind.__name__, kind.__module__.partition(".")[0]) for kind in type(value).__mro__]
    return ("DataType", "pyarrow") in roots


def _require_function(kind: str, function: Any) -> None:
    if not callable(function):
        raise SpecError(
            f"{kind}: `function` ({function!r}) cannot be called. Give a function of two values, such as operator.add."
        )
