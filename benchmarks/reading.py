"""How much of the package one has to read: what is counted, the bar for it, what it was before and what it is now.

    python -m benchmarks.reading                            this tree
    PYTHONPATH=../before/src python -m benchmarks.reading   another one

Prints the table of `docs/how-it-works.md`, then what was counted, by name. One function a figure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks import frames

HERE = frames.PACKAGE.parent
BEFORE = "63f16fb"
"""The commit that the numbers of before were counted in, by this script."""
LONGEST = 400
"""How many lines a file may have."""

ENGINE = ("kernels", "operators", "state", "embedded", "spark", "model/spec.py")
"""Where nobody should have to ask which kind of window it is."""

KINDS = frozenset(
    (
        # the model's
        *("Tumbling", "Hopping", "Global", "Same", "Cumulating", "Calendar", "Session", "Sliding"),
        *("Custom", "Counting"),
        # their slicings
        *("Periodic", "Cumulative", "CalendarUnits", "Assigned", "Whole", "ByEnd", "Unsliced"),
        # how records find their panes, and what they are aggregated to before
        *("Sessions", "MergingSessions", "LimitedSessions", "KeyCounts", "SlidingWindows"),
        *("FoldedSlices", "PreAggregatedSlices", "Stretches", "SessionRuns"),
    )
)
"""Classes that belong to one kind of window, or to some; as they are called now, and as they were before."""

CLOCKS = frozenset(("domain", "in_event_time", "in_processing_time", "in_arrival_order"))
"""Flags that ask for the clock. Any kind may go by any clock; a new kind touches none of these places."""

FLAGS = CLOCKS | {
    *("is_aligned", "spans_keys", "heeds_earliest_start", "has_limits", "starts_by_clock"),
    *("domain_of", "bounds_domain"),
}
"""Properties and functions that say no more than which kinds of windows, or which clocks, are meant."""

OWN = (
    *("kernels/slicing/periodic.py", "kernels/slicing/whole.py", "kernels/slicing/assigned.py"),
    *("kernels/slicing/calendar.py", "kernels/slicing/cumulative.py", "kernels/slicing/unsliced.py"),
    *("kernels/slicing/counting.py", "kernels/sessions/", "kernels/sliding_windows.py"),
    *("operators/window/session/", "operators/window/sliding/", "operators/window/custom.py"),
    *("operators/window/count_by_key.py", "operators/window/preaggregate/session_runs.py"),
    # as they were called before
    *("kernels/calendars.py", "kernels/cumulative.py", "kernels/by_end.py", "kernels/anchors.py", "kernels/chains.py"),
    *("kernels/cutting.py", "kernels/intervals.py", "operators/folding_sessions.py"),
    *("operators/unaligned/assigned.py", "operators/unaligned/atoms.py", "operators/unaligned/counting.py"),
    *("operators/unaligned/gaps.py", "operators/unaligned/limits.py", "operators/unaligned/open_sessions.py"),
    *("operators/unaligned/session_intake.py", "operators/unaligned/sessions", "operators/unaligned/sliding"),
    "operators/unaligned/stretching.py",
)
"""The files of one kind of window."""

OF_CLOCKS = ("operators/ingest/bundle.py", "operators/intake.py")
"""Where the clocks are told apart: what a record's time is, and where the watermark goes."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where something is asked, and how."""

    file: str
    line: int
    asks: str

    @property
    def is_clock(self) -> bool:
        """Whether it asks for the clock, not for the kind."""
        return self.asks in CLOCKS


def places_asking_for_kinds(source: Path) -> list[Place]:
    """Places of the engine outside a window kind's own files that ask for it: by class, by name or by flag."""
    package = source / "fanlight"
    found: set[Place] = set()
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package).as_posix()
        if file.startswith(ENGINE) and not file.startswith(OWN):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            asked = {Place(file, line, asks) for line, asks in _asked(tree)}
            found |= {place for place in asked if not (place.is_clock and file in OF_CLOCKS)}
    return sorted(found)


def _asked(node: ast.AST) -> Iterator[tuple[int, str]]:
    """What a node and those in it ask. The definition of a flag is not counted: who reads it is."""
    if isinstance(node, ast.FunctionDef) and node.name in FLAGS:
        return
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kinds]):
            yield from ((node.lineno, f"isinstance {name}") for name in _kinds_in(kinds))
        case ast.MatchClass(cls=ast.Name(id=name)) if name in KINDS:
            yield node.lineno, f"case {name}"
        case ast.Compare(left=ast.Call(func=ast.Name(id="type"))):
            yield from ((node.lineno, f"type is {name}") for name in _kinds_in(node))
        case ast.Compare(left=ast.Attribute(attr="__name__" | "__qualname__")):
            yield node.lineno, "class name"
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in FLAGS and not _is_of_trigger(node):
            yield node.lineno, name
        case ast.Call(func=ast.Name(id=name)) if name in FLAGS:
            yield node.lineno, name
    for child in ast.iter_child_nodes(node):
        yield from _asked(child)


def _kinds_in(node: ast.AST) -> list[str]:
    return sorted({part.id for part in ast.walk(node) if isinstance(part, ast.Name) and part.id in KINDS})


def _is_of_trigger(node: ast.Attribute) -> bool:
    """A trigger has a domain too; it is called `part`, as one part of a trigger, wherever that is asked."""
    return isinstance(node.value, ast.Name) and node.value.id == "part"


def tell(places: list[Place]) -> str:
    """The places as a table, and how many they are."""
    width = max((len(f"{place.file}:{place.line}") for place in places), default=0)
    lines = [f"{f'{place.file}:{place.line}'.ljust(width)}  {place.asks}" for place in places]
    clocks = sum(place.is_clock for place in places)
    files = len({place.file for place in places})
    lines.append(
        f"{len(places)} places in {files} files: {len(places) - clocks} ask for the kind, {clocks} for its clock"
    )
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of the table."""

    name: str
    bar: int
    before: int
    now: int


def figures() -> list[Figure]:
    """Every figure."""
    return [
        Figure("Python frames from `add` to the operator's `take_in`", 6, 12, len(frames.frames_to_take_in())),
        Figure("files with a Python frame in an `add` that closes a window", 18, 35, len(frames.files_of_add())),
        Figure("the same, a micro-batch of a shard on Spark", 25, 45, len(frames.files_of_micro_batch())),
        Figure(f"files of more than {LONGEST} lines", 0, 0, len(too_long(HERE))),
        Figure("places that ask for a window kind", 15, 74, len(places_asking_for_kinds(HERE))),
    ]


def too_long(source: Path) -> list[str]:
    """The files that have too many lines."""
    files = sorted((source / "fanlight").rglob("*.py"))
    return [str(path) for path in files if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST]


def table() -> str:
    """The figures, as the page has them."""
    rows = [f"| {figure.name} | {figure.bar} | {figure.before} | {figure.now} |" for figure in figures()]
    return "\n".join([f"| counted | at most | {BEFORE} | now |", "|---|---|---|---|", *rows])


def main() -> None:
    """Print the table, and what was counted."""
    print(table(), end="\n\n")
    print("From `add` to `take_in`:", *frames.frames_to_take_in(), sep="\n  ", end="\n\n")
    print("In an `add` that closes a window:", *frames.files_of_add(), sep="\n  ", end="\n\n")
    print("In a micro-batch that does:", *frames.files_of_micro_batch(), sep="\n  ", end="\n\n")
    print("Places outside a window kind's own files that ask for it")
    print(tell(places_asking_for_kinds(HERE)))


if __name__ == "__main__":
    main()
