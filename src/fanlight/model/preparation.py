"""The preparation of records: which rows and columns of a stream its operator sees.

    where      keeps the rows for which a condition is true
    select     keeps columns, and adds computed ones
    extract    adds a column that a function of the batch computes
    whole row  adds the record itself, as one struct

Conditions and computed columns are expressions of `pyarrow.compute`. The model knows an expression by its text.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.later import LATER
from fanlight.model.time.unit import TimeUnit

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_BY_PLACE = "FieldPath("


@dataclass(frozen=True, slots=True, eq=False)
class Where:
    """Keep the rows for which the expression is true; false and null leave a row out."""

    expression: Any

    def __post_init__(self) -> None:
        _require_expression("where", self.expression, "where(fl.col('price') > 0)")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Where) and _same(self.expression, other.expression)

    def __hash__(self) -> int:
        return hash(("where", text_of(self.expression)))

    @property
    def told(self) -> str:
        """It in words, as `explain` says it."""
        return f"where {text_of(self.expression)}"


@dataclass(frozen=True, slots=True, eq=False)
class Select:
    """Keep these columns, in this order: each has a name, and is a column of that or another name, or an expression."""

    columns: tuple[tuple[str, Any], ...]

    def __post_init__(self) -> None:
        names = [name for name, _ in self.columns]
        if not names:
            raise SpecError("select: no column is named, so nothing would be left of a record. Name at least one.")
        for name, source in self.columns:
            _require_name("select", name)
            if names.count(name) > 1:
                raise SpecError(f"select: two columns would be called {name!r}. Give one of them another name.")
            if isinstance(source, str):
                _require_name("select", source)
            else:
                _require_expression(
                    "select", source, f"select({name}=fl.col('price') * 2)", also="the name of a column"
                )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Select) or len(self.columns) != len(other.columns):
            return False
        pairs = zip(self.columns, other.columns, strict=True)
        return all(name == its_name and _same(source, its) for (name, source), (its_name, its) in pairs)

    def __hash__(self) -> int:
        return hash(("select", *((name, text_of(source)) for name, source in self.columns)))

    @property
    def told(self) -> str:
        """It in words, as `explain` says it."""
        return "select " + ", ".join(
            name if name == text_of(source) else f"{name} = {text_of(source)}" for name, source in self.columns
        )


@dataclass(frozen=True, slots=True)
class Extract:
    """Add a column: `function` is handed a record batch and returns one value for each row."""

    function: Callable[[Any], Any]
    name: str

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise SpecError(
                f"extract: {self.function!r} is no function. Use one that takes a record batch and returns a column."
            )
        _require_name("extract", self.name)

    @property
    def told(self) -> str:
        """It in words, as `explain` says it."""
        return f"extract {self.name} = {getattr(self.function, '__qualname__', type(self.function).__qualname__)}"


@dataclass(frozen=True, slots=True)
class Tag:
    """Add a column that says the same of every record: from which input it came."""

    column: str
    value: str

    @property
    def told(self) -> str:
        """It in words, as `explain` says it."""
        return f"tag {self.column} = {self.value}"


@dataclass(frozen=True, slots=True)
class WholeRow:
    """Keep these columns, and add one that has the whole record as a struct, for what works on whole records."""

    keeps: tuple[str, ...] | None
    """None: all of them."""
    name: str
    without: tuple[str, ...] = ()
    """Columns that are no part of a record: the operation of a change, which differs where its row does not."""

    def __post_init__(self) -> None:
        if self.keeps is not None and self.name in self.keeps:
            raise SpecError(
                f"window: the stream goes by a column {self.name!r}, and the whole record is called so here. Give that "
                f"column another name, as in select(…, other={self.name!r})."
            )

    @property
    def told(self) -> str:
        """It in words, as `explain` says it."""
        return "each record also as a whole"


@dataclass(frozen=True, slots=True)
class Sided:
    """Make records of one side of a join: time and keys under names of both sides, and the record as one struct."""

    side: str
    """The side that these records are of; its column has them."""
    sides: tuple[str, ...]
    """All sides: the columns of the others are null here."""
    time: str
    unit: TimeUnit | None
    keys: tuple[str, ...] = ()
    says_op: bool = field(default=False, metadata=LATER)
    """Whether records of both sides say what they do, because a side has changes."""
    op: str | None = field(default=None, metadata=LATER)
    """The column of operations of this side; it is no part of the record. None: every record inserts its row."""

    @property
    def told(self) -> str:
        """It in words, as `explain` says it."""
        by = f", by {', '.join(self.keys)}" if self.keys else ""
        return f"as {self.side}{by}"


PreparationStep = Where | Select | Extract | Tag | WholeRow | Sided


@dataclass(frozen=True, slots=True)
class Preparation:
    """What is done to records before an operator sees them, step by step; each sees what the one before it left."""

    steps: tuple[PreparationStep, ...] = ()

    def __post_init__(self) -> None:
        for step in self.steps:
            if not isinstance(step, PreparationStep):
                raise SpecError(
                    f"preparation: {step!r} is no step of one. Use where_of(…), select_of(…) or extract_of(…)."
                )

    def __bool__(self) -> bool:
        return bool(self.steps)

    def then(self, step: PreparationStep) -> Preparation:
        """This preparation, and one more step after it."""
        return Preparation((*self.steps, step))

    @property
    def told(self) -> str:
        """It in words, as `explain` says it."""
        return ", then ".join(step.told for step in self.steps) or "nothing"


@dataclass(frozen=True, slots=True)
class Intake:
    """One input of a stage: what is done to its records, and which column had their times before that."""

    preparation: Preparation
    time: str
    control: str | None = None
    """The column of watermarks: a row that has one there is no record, but says how far the input has come."""
    unit: TimeUnit | None = field(default=None, metadata=LATER)
    """What whole numbers in that column of times count, where the spec's own times count something else."""

    def __bool__(self) -> bool:
        """Whether anything is done at all."""
        return bool(self.preparation) or self.control is not None


def where_of(expression: object) -> Where:
    """The step of `where(expression)`.

    >>> import fanlight as fl
    >>> where_of(fl.col("price") > 0).told
    'where (price > 0)'
    """
    return Where(expression)


def select_of(*columns: Any, **computed: object) -> Select:
    """The step of `select("id", total=…)`: columns by their names, then those that are computed or renamed.

    >>> import fanlight as fl
    >>> select_of("id", cost="price", total=fl.col("price") * fl.col("pieces")).told
    'select id, cost = price, total = multiply_checked(price, pieces)'
    """
    for column in columns:
        if isinstance(column, list | tuple):
            said = ", ".join(map(repr, column))
            raise SpecError(f"select: {column!r} is a {type(column).__name__}, not a column. Write select({said}).")
        if is_expression(column):
            raise SpecError(
                f"select: {text_of(column)} has no name. Give it one, as in select(total={text_of(column)}); "
                "a column that stays as it is goes by its name alone, as in select('id')."
            )
    return Select((*((column, column) for column in columns), *computed.items()))


def extract_of(function: object, name: str) -> Extract:
    """The step that adds the column `name`, computed by a function of the batch.

    >>> extract_of(len, "time").told
    'extract time = len'
    """
    return Extract(function, name)  # type: ignore[arg-type]  # it is checked there


def is_expression(value: object) -> bool:
    """Whether this is an expression of `pyarrow.compute`, told by its type's name: the model imports no Arrow."""
    kind = type(value)
    return kind.__name__ == "Expression" and kind.__module__.partition(".")[0] == "pyarrow"


def text_of(source: object) -> str:
    """An expression as text on one line; the name of a column is its own text."""
    return re.sub(r"\n\s*", " ", str(source))


def _same(one: Any, other: Any) -> bool:
    """Whether two sources are equal. `==` of expressions makes an expression, and their text hides types."""
    if is_expression(one) and is_expression(other):
        return bool(one.equals(other))
    return isinstance(one, str) and isinstance(other, str) and one == other


def _require_name(word: str, name: object) -> None:
    if not isinstance(name, str) or not name:
        raise SpecError(f"{word}: {name!r} is no column name. Use text that is not empty.")


def _require_expression(word: str, value: object, example: str, *, also: str | None = None) -> None:
    if not is_expression(value):
        kinds = "an expression" if also is None else f"an expression or {also}"
        raise SpecError(f"{word}: {value!r} is {_what(value)}, not {kinds}. Write one, as in {example}.")
    if _BY_PLACE in _QUOTED.sub("", str(value)):
        raise SpecError(
            f"{word}: {text_of(value)} names a column by its place, and places differ from source to source. "
            "Use its name, as in fl.col('price')."
        )


def _what(value: object) -> str:
    """What a user has given in the place of an expression."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool):
        return "True or False"
    return "a function" if callable(value) else f"a {type(value).__name__}"
