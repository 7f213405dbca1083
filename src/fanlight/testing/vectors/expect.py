"""Which rows a vector's expectations speak of: `expect_mode`, `dropped` and `late_output` read over what was played."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fanlight.errors import VectorError
from fanlight.model.firing import Op
from fanlight.testing.vectors.compare import Comparison, Expected
from fanlight.testing.vectors.declare import is_on_close_view
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.observe import OP, Row
from fanlight.testing.vectors.peers import peer_of
from fanlight.testing.vectors.play import PlayedVector

_OVER_STEPS = ("each_step", "since_last", "end_total")
_STANDING = ("final_per_window", "final")


def differences(vector: Vector, played: PlayedVector) -> list[str]:
    """Everything that came out otherwise than expected, each with its step."""
    comparison = comparison_of(vector)
    problems = [
        f"after step {after}: {problem}"
        for after, expected, actual in _asserted(vector, played)
        for problem in comparison.differences(expected, actual)
    ]
    return problems + _dropped(vector, played) + _late_output(vector, played)


def comparison_of(vector: Vector) -> Comparison:
    """How the vector's rows are compared. Beam promises no order within a pane; a sorted list's order is its own."""
    unordered = peer_of(vector).startswith("beam") or vector.get("agg") == "sorted_list"
    return Comparison(vector.get("row_order", "any"), unordered_lists=unordered)


def groups_of(vector: Vector, field: str = "expect") -> dict[int, list[Expected]]:
    """The expected rows by the step after which they are there, in order of the steps."""
    groups: dict[int, list[Expected]] = {}
    for group in vector.get(field, []):
        groups.setdefault(step_of(vector, group), []).extend(group.get("rows") or [])
    return dict(sorted(groups.items()))


def step_of(vector: Vector, group: Mapping[str, Any]) -> int:
    """The step a group of expectations follows; `end` is the last."""
    after, steps = group.get("after"), len(vector.steps)
    if after == "end":
        return steps - 1
    if not isinstance(after, int) or not 0 <= after < steps:
        raise VectorError(f"`after` ({after!r}) must be a step from 0 to {steps - 1}.")
    return after


def require_attributes(vector: Vector, known: set[str], field: str = "expect") -> None:
    """Refuse rows that assert what the runner cannot see: an attribute that is never compared would always pass."""
    for rows in groups_of(vector, field).values():
        for row in rows:
            unknown = sorted(str(name) for name in row if name not in known)
            if unknown:
                raise VectorError(
                    f"`{field}` asserts `{unknown[0]}`, which no row here has. Rows have {', '.join(sorted(known))}."
                )


def over_steps(
    mode: str, groups: Mapping[int, list[Expected]], steps: Sequence[list[Row]]
) -> Iterator[tuple[int, list[Expected], list[Row]]]:
    """The expected rows beside the rows of the steps they speak of.

    steps        0    1    2    3    4          groups after 2 and 4
    each_step    .    .    [2]  .    [4]        every step by itself; a step without a group gives nothing
    since_last   [0........2]   [3....4]
    end_total    [0........2]
                 [0..................4]
    """
    if mode == "each_step":
        for step, rows in enumerate(steps):
            yield step, groups.get(step, []), rows
        return
    start = 0
    for after, expected in groups.items():
        yield after, expected, _flat(steps[start : after + 1])
        if mode == "since_last":
            start = after + 1


def _asserted(vector: Vector, played: PlayedVector) -> Iterator[tuple[int, list[Expected], list[Row]]]:
    mode, groups = vector.get("expect_mode", "each_step"), groups_of(vector)
    if mode in _OVER_STEPS:
        yield from over_steps(mode, groups, played.firings)
    elif mode in _STANDING or (mode == "state" and is_on_close_view(vector)):
        for after, expected in groups.items():
            yield after, expected, standing(_flat(played.firings[: after + 1]))
    elif mode == "state":
        for after, expected in groups.items():
            yield after, expected, played.states[after]
    elif mode != "dropped_only":
        raise VectorError(f"`expect_mode` ({mode!r}) is not known.")


def standing(rows: Iterable[Row]) -> list[Row]:
    """The last row of each key and window: what a table of results holds after these rows."""
    table: dict[str, Row] = {}
    for row in rows:
        pane = repr((row.get("k"), row["window"]))
        if row[OP] == Op.DELETE.code:
            table.pop(pane, None)
        elif not row["retract"]:
            table[pane] = row
    return list(table.values())


def _dropped(vector: Vector, played: PlayedVector) -> list[str]:
    """`count`: dead letters of one step. `count_total`: dead letters up to and including it."""
    problems = []
    for group in vector.get("dropped", []):
        after = step_of(vector, group)
        counted = {
            "count": len(played.letters[after]),
            "count_total": sum(len(letters) for letters in played.letters[: after + 1]),
        }
        asserted = {name: group[name] for name in counted if name in group}
        if not asserted:
            raise VectorError(f"`dropped` ({group!r}) needs a `count` or a `count_total`.")
        problems += [
            f"after step {after}: expected {name} {wanted} of dead letters, got {counted[name]}"
            for name, wanted in asserted.items()
            if wanted != counted[name]
        ]
    return problems


def _late_output(vector: Vector, played: PlayedVector) -> list[str]:
    if vector.get("late_output") is None:
        return []
    mode = vector.get("expect_mode", "each_step")
    sides = over_steps(mode if mode in _OVER_STEPS else "each_step", groups_of(vector, "late_output"), played.letters)
    return [
        f"after step {after}: late output: {problem}"
        for after, expected, actual in sides
        for problem in Comparison("any").differences(expected, actual)
    ]


def _flat(steps: Iterable[list[Row]]) -> list[Row]:
    return [row for rows in steps for row in rows]
