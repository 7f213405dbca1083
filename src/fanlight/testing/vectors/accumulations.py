"""The field `agg` of the op `accumulation`: what is folded, in the words of the peer's tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fanlight.model.aggregates import (
    Aggregate,
    Avg,
    Composite,
    Distinct,
    Listed,
    Max,
    Min,
    Sorted,
    Top,
    TopByKey,
    UserAggregate,
    UserFold,
    UserReduce,
)
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.aggregates import VALUE, read_aggregate

PAIR = ("key", "value")
"""How the parts of an input that has two are called, unless the aggregate names them."""
SIDE = "side"

_JOINED = r"(?P<function>fold|reduce)\(\s*(?P<quote>[\"'])(?P<separator>.*)(?P=quote)\s*\)"
_REVERSED = r"(?P<function>max|min)\s*\(\s*(?:in )?reversed? order\s*\)"
_SORTED = r"sort(?:ed)?(?:\s+(?P<order>asc|desc)\w*)?(?:\s+by\s+\(?(?P<fields>[\w\s,]+)\)?)?"
_TOP = r"top\s*(?P<n>\d+)(?:\s+by\s+(?P<field>\w+))?(?P<keyed>.*\bper key\b.*)?"
_CROSSED = r"cross product\b.*"


@dataclass(frozen=True, slots=True)
class AccumulationCase:
    """An aggregate, and the columns that an input becomes."""

    aggregate: Aggregate
    fields: tuple[str, ...] = ()
    """The parts of an input that has several: columns if the aggregate works on several, else fields of a struct."""

    @property
    def is_set(self) -> bool:
        """Whether no order of the result is promised."""
        return isinstance(self.aggregate, Crossed | Distinct)

    def record(self, value: Any, side: Any) -> dict[str, Any]:
        """One input as a record."""
        columns = self.aggregate.columns
        if len(columns) > 1 and VALUE not in columns:
            return dict(zip(columns, value, strict=True))
        if isinstance(self.aggregate, Crossed):
            return {VALUE: {SIDE: str(side), VALUE: value}}
        return {VALUE: dict(zip(self.fields or PAIR, value, strict=True)) if isinstance(value, list) else value}


def accumulation_of(declared: Any, inputs: Sequence[Any]) -> AccumulationCase:
    """What `agg` says; a list is several aggregates of the same inputs."""
    if isinstance(declared, list):
        parts = [accumulation_of(text, inputs).aggregate for text in declared]
        return AccumulationCase(Composite(parts=tuple((f"part{place}", part) for place, part in enumerate(parts))))
    text = str(declared).strip()
    for pattern, reader in _READERS:
        match = re.fullmatch(pattern, text, re.IGNORECASE)
        if match is not None:
            return reader(match, inputs)
    word = _WORDS.get(text.lower())
    return AccumulationCase(read_aggregate(text)[1] if word is None else word)


def _joined(match: re.Match[str], _: Sequence[Any]) -> AccumulationCase:
    separator = match["separator"]
    if match["function"].lower() == "reduce":
        return AccumulationCase(UserReduce(VALUE, lambda left, right: f"{left}{separator}{right}"))
    return AccumulationCase(
        UserFold(VALUE, None, lambda text, value: value if text is None else f"{text}{separator}{value}", pa.string())
    )


def _reversed(match: re.Match[str], _: Sequence[Any]) -> AccumulationCase:
    return AccumulationCase(Min(VALUE) if match["function"].lower() == "max" else Max(VALUE))


def _sorted(match: re.Match[str], _: Sequence[Any]) -> AccumulationCase:
    fields = tuple(name.strip() for name in (match["fields"] or "").split(",") if name.strip())
    return AccumulationCase(Sorted(VALUE, descending=(match["order"] or "asc").lower() == "desc"), fields)


def _top(match: re.Match[str], _: Sequence[Any]) -> AccumulationCase:
    n = int(match["n"])
    if match["keyed"]:
        return AccumulationCase(TopByKey(PAIR[1], PAIR[0], n))
    return AccumulationCase(Top(VALUE, n, match["field"]))


def _crossed(_: re.Match[str], inputs: Sequence[Any]) -> AccumulationCase:
    return AccumulationCase(crossed(pa.array(inputs).type))


_READERS: list[tuple[str, Callable[[re.Match[str], Sequence[Any]], AccumulationCase]]] = [
    (_JOINED, _joined),
    (_REVERSED, _reversed),
    (_SORTED, _sorted),
    (_TOP, _top),
    (_CROSSED, _crossed),
]

_WORDS: dict[str, Aggregate] = {
    "average": Avg(VALUE),
    "distinct": Distinct(VALUE),
    "set": Distinct(VALUE),
    "remove duplicates": Distinct(VALUE),
    "group": Listed(VALUE, by_arrival=True),
}


class Crossed(UserAggregate):
    """Every value of the left side with every value of the right one: an aggregate of one's own, by hand."""

    def zero(self) -> Any:
        """Neither side has come."""
        return {"L": [], "R": []}

    def add(self, state: Any, value: Any) -> Any:
        """A side is a set."""
        seen = state[value[SIDE]]
        return {**state, value[SIDE]: seen if value[VALUE] in seen else [*seen, value[VALUE]]}

    def merge(self, left: Any, right: Any) -> Any:
        """Both sets of each side."""
        return {side: [*left[side], *(value for value in right[side] if value not in left[side])] for side in "LR"}

    def finish(self, state: Any) -> Any:
        """All pairs."""
        return [[left, right] for left in state["L"] for right in state["R"]]


def crossed(kind: pa.DataType) -> UserAggregate:
    """The cross product over values of one type."""
    if pa.types.is_null(kind) or pa.types.is_nested(kind):
        raise NotAdoptedError(f"a cross product of {kind}: not built yet")
    types = {
        "state_type": pa.struct([pa.field(side, pa.list_(kind)) for side in "LR"]),
        "output_type": pa.list_(pa.list_(kind)),
    }
    typed: type[UserAggregate] = type("Crossed", (Crossed,), types)
    return typed(VALUE)
