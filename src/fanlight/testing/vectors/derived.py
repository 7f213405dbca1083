"""Columns that a vector's own rules compute for each record: a session's gap, a time in seconds."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fanlight.errors import VectorError
from fanlight.testing.vectors.load import Vector

GAP, SECONDS = "gap_ms", "ts_s"
"""How the columns are called that no record has of itself."""

Rule = Callable[[Mapping[str, Any]], Any]

_OTHERWISE = re.compile(r"(?:else|otherwise|default)\b\s*:?\s*(?P<gap>.+)", re.IGNORECASE | re.DOTALL)
_KEYED = re.compile(r"(?P<key>[^:?<>=!]+?)\s*:\s*(?P<gap>.+)", re.DOTALL)

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def seconds(record: Mapping[str, Any]) -> Any:
    """A record's time in seconds; whole where it is."""
    time = record.get("ts")
    if time is None:
        return None
    return time // 1_000 if time % 1_000 == 0 else time / 1_000


def derived_of(vector: Vector) -> dict[str, Rule]:
    """What is computed for each record of the vector, by column."""
    rule = vector.mapping("window").get("gap_rule")
    derived: dict[str, Rule] = {SECONDS: seconds}
    return derived if rule is None else {**derived, GAP: GapRule.read(str(rule))}


@dataclass(frozen=True, slots=True)
class GapRule:
    """How long a silence ends a session after each record: by its key, or else by the last clause.

    >>> rule = GapRule.read("a: 3000; b: 1000 if v == 10 else 2000; else 5")
    >>> [rule({"k": k, "v": v}) for k, v in (("a", 1), ("b", 10), ("b", 11), ("c", 1))]
    [3000, 1000, 2000, 5]
    """

    by_key: Mapping[str, ast.expr]
    otherwise: ast.expr | None

    @classmethod
    def read(cls, text: str) -> GapRule:
        """Clauses `key: gap`, separated by `;`; a clause without a key, or with `else`, holds for all others."""
        by_key: dict[str, ast.expr] = {}
        otherwise: ast.expr | None = None
        for clause in (part.strip() for part in text.split(";")):
            if keyed := _OTHERWISE.fullmatch(clause):
                otherwise = _parsed(keyed["gap"], text)
            elif keyed := _KEYED.fullmatch(clause):
                by_key[keyed["key"].strip("'\" ")] = _parsed(keyed["gap"], text)
            elif clause:
                otherwise = _parsed(clause, text)
        return cls(by_key, otherwise)

    def __call__(self, record: Mapping[str, Any]) -> Any:
        """The gap of a record; null where no clause speaks of it."""
        rule = self.by_key.get(str(record.get("k")), self.otherwise)
        return None if rule is None else _value(rule, record)


def _parsed(text: str, rule: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise VectorError(f"`gap_rule` ({rule!r}): {text.strip()!r} is no expression.") from None


def _value(node: ast.expr, record: Mapping[str, Any]) -> Any:
    """An expression over the columns of a record: numbers, text, comparisons, arithmetic and a choice."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return record.get(name)
        case ast.IfExp(test, body, orelse):
            return _value(body if _value(test, record) else orelse, record)
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, record)
        case ast.UnaryOp(ast.Not(), operand):
            return not _value(operand, record)
        case ast.BinOp(left, sign, right) if type(sign) in _ARITHMETIC:
            return _ARITHMETIC[type(sign)](_value(left, record), _value(right, record))
        case ast.BoolOp(ast.And(), values):
            return all(_value(value, record) for value in values)
        case ast.BoolOp(ast.Or(), values):
            return any(_value(value, record) for value in values)
        case ast.Compare(left, [sign], [right]) if type(sign) in _COMPARISONS:
            return _COMPARISONS[type(sign)](_value(left, record), _value(right, record))
    raise VectorError(f"`gap_rule`: {ast.unparse(node)!r} is more than a rule can say.")
