"""Joins by window in cases: the windows, conditions over values, and records that carry their window or no value."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from typing import Any

import pyarrow.compute as pc

from fanlight.errors import VectorError
from fanlight.model.join.sides import JoinType
from fanlight.model.preparation import Where
from fanlight.model.time.duration import Duration
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.tumbling import Tumbling
from fanlight.testing.vectors.adopt import NotAdoptedError
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.windows import window_of

END = "window_end"
"""The field of a record that was put into its window before, and of a joined row: where the window ends."""
OF_WINDOWS = {"window", END, "l_end", "r_end"}
"""What cases say of the windows of joined rows."""
_MILLISECOND = Duration(1000)
_VALUES = {"lv": "v", "rv": "v_R"}
_PADDED = {JoinType.LEFT: "lv", JoinType.RIGHT: "rv"}

_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}


def join_windows(vector: Vector) -> WindowKind:
    """The windows of a join; where each record says the end of its own, windows of a millisecond tell them apart."""
    return window_of(vector) if vector.mapping("window") else Tumbling(_MILLISECOND)


def with_time(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record with a time; of one that says the end of its window it is the last millisecond of that."""
    if END not in record:
        return record
    return {"ts": record[END] - 1, **{name: value for name, value in record.items() if name != END}}


def says_at_the_end(vector: Vector) -> bool:
    """Whether a join by window without any watermark is looked at when all has come: then its input ends."""
    is_window = vector.mapping("join").get("kind") == "window"
    return is_window and vector.get("expect_mode") == "state" and not vector.get("watermark_policy")


def told_windows(window: Mapping[str, Any], times: tuple[Any, Any]) -> dict[str, Any]:
    """The window of a joined row as cases write it; `times` are those of its left and its right row."""
    start, end = (int(window[name].timestamp() * 1000) for name in ("start", "end"))
    left, right = (None if time is None else end for time in times)
    return {"window": [start, end], END: end, "l_end": left, "r_end": right}


def condition_of(vector: Vector, how: JoinType) -> Where | None:
    """The condition of a join over `lv` and `rv`, the values of both sides."""
    text = vector.mapping("join").get("extra_condition")
    if text is None:
        return None
    tree = ast.parse(text, mode="eval").body
    for part in _conjuncts(tree):
        names = {node.id for node in ast.walk(part) if isinstance(node, ast.Name)}
        if names == {_PADDED.get(how)}:
            raise NotAdoptedError(
                f"join: Spark looks at a part of a condition that reads one side ({ast.unparse(part)}) before it "
                "joins, and pads a row that fails at once; here a row without a match leaves when its window is "
                "complete"
            )
    return Where(_expression(tree))


def _conjuncts(tree: ast.expr) -> Iterator[ast.expr]:
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        for part in tree.values:
            yield from _conjuncts(part)
    else:
        yield tree


def _expression(tree: ast.expr) -> Any:
    match tree:
        case ast.BoolOp(op=ast.And(), values=parts):
            return reduce(operator.and_, map(_expression, parts))
        case ast.BoolOp(op=ast.Or(), values=parts):
            return reduce(operator.or_, map(_expression, parts))
        case ast.Compare(left=ast.Name(id=name), ops=[word], comparators=[ast.Constant(value=value)]):
            return _COMPARED[type(word)](pc.field(_VALUES[name]), value)
    raise VectorError(f"a condition with `{ast.unparse(tree)}` is not known.")
