"""Aggregates in a user's own code: a class with four methods, or a function that is folded over the values."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar

from fanlight.errors import SpecError
from fanlight.model.aggregates.aggregate import Aggregate


@dataclass(frozen=True)
class UserAggregate(Aggregate):
    """A user's own aggregate: subclass it, name the two Arrow types, write four methods.

    `state_type` and `output_type` are Arrow types, so that state is stored as columns, never pickled. The
    row-wise form is `zero`, `add`, `merge`, `finish`. The vectorised one is `add_batch(states, values, groups, count)`:
    it gets one fresh state for each group, all values and each value's group, and returns the new states. `retraction`
    may say what a row that takes a value back carries.
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
    """
    return UserFold(column, zero, function, output_type, merge)


def reduce(column: str, function: Callable[[Any, Any], Any]) -> UserReduce:
    """`function(value, value)` over the values of `column` by event time, then arrival; their type stays."""
    return UserReduce(column, function)


def _require_function(kind: str, function: Any) -> None:
    if not callable(function):
        raise SpecError(
            f"{kind}: `function` ({function!r}) cannot be called. Give a function of two values, such as operator.add."
        )
