"""The recordings by group: which cases there are, what each gives now, and what was kept of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from . import checkpoints, documents, results, shapes, snapshots, vectors
from .canonical import plain_json
from .pipelines import PIPELINES
from .tape import Line

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Group:
    """Cases that are kept in one file, a line for each."""

    name: str
    names: Callable[[], Iterable[str]]
    line: Callable[[str], Line]
    shown: Callable[[str], Iterable[str]]
    beside: Callable[[], None] = lambda: None
    """Writes down what is kept beside the lines, before they are made."""

    @property
    def file(self) -> Path:
        """Where the lines are."""
        return FOLDER / f"{self.name}.json"

    def kept(self) -> dict[str, Line]:
        """What was recorded."""
        lines: dict[str, Line] = json.loads(self.file.read_text(encoding="utf-8"))
        return lines

    def keep(self) -> None:
        """Record what this code gives."""
        self.beside()
        lines = (f"{json.dumps(name)}: {plain_json(self.line(name))}" for name in sorted(self.names()))
        self.file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")

    def difference(self, name: str, kept: Line) -> str:
        """What differs in one case, and how to see more of it; nothing where nothing does."""
        return self.told(name, kept, self.line(name))

    def told(self, name: str, kept: Line, now: Line) -> str:
        """What differs between two lines, in words."""
        if now == kept:
            return ""
        parts = [part for part in {**kept, **now} if kept.get(part) != now.get(part)]
        told = "".join(f"  {part}: {kept.get(part)} recorded, {now.get(part)} now\n" for part in parts)
        return (
            f"{self.name}: {name} does not give what the commit before gave.\n{told}"
            f"  To see both, run `python -m tests.recorded show {self.name} {name!r}` here and with the commit before, "
            "as tests/recorded/README.md says."
        )


def _played(engine: str, room: str) -> Group:
    play = {"vectors": vectors.played, "shapes": shapes.played}[room]
    names = {"vectors": vectors.cases, "shapes": lambda: shapes.SHAPES}[room]
    return Group(
        f"{room}-{engine}",
        names,
        lambda name: play(engine, name).line(),
        lambda name: play(engine, name).shown(),
    )


def _keep_snapshots() -> None:
    for name in PIPELINES:
        snapshots.keep(name)


GROUPS = {
    group.name: group
    for group in (
        _played("embedded", "vectors"),
        _played("spark", "vectors"),
        _played("embedded", "shapes"),
        _played("spark", "shapes"),
        Group(
            "results",
            lambda: shapes.SHAPES,
            lambda name: results.played(name).line(),
            lambda name: results.played(name).shown(),
        ),
        Group(
            "snapshots",
            lambda: PIPELINES,
            lambda name: snapshots.gone_on(name, snapshots.kept(name)).line(),
            lambda name: snapshots.gone_on(name, snapshots.kept(name)).shown(),
            _keep_snapshots,
        ),
        Group(
            "documents",
            documents.specs,
            lambda name: documents.line(documents.specs()[name]),
            lambda name: documents.shown(documents.specs()[name]),
            documents.keep,
        ),
        Group(
            "checkpoints",
            lambda: checkpoints.QUERIES,
            lambda name: checkpoints.line(checkpoints.alone(name)),
            lambda name: checkpoints.shown(checkpoints.alone(name)),
            checkpoints.keep_all,
        ),
    )
}
