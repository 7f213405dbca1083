"""What a run gave, step by step, and the line that a recording keeps of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from .canonical import plain_json, table_bytes

Line = dict[str, Any]
"""What a recording keeps of one case: a digest of all of it, and its numbers in plain sight."""

DIGITS = 32
"""Sixteen bytes of SHA-256."""


@dataclass(frozen=True, slots=True)
class Noted:
    """One step: what it was, the rows and the letters that left, and the accounts after it, without the zeros."""

    step: str
    rows: pa.Table
    letters: pa.Table
    accounts: dict[str, int]


@dataclass(slots=True)
class Track:
    """The steps of one operator; and the tables of windows, wherever somebody asked for one."""

    spec: Any
    steps: list[Noted] = field(default_factory=list)
    windows: list[pa.Table] = field(default_factory=list)

    def note(self, step: str, rows: pa.Table, letters: pa.Table, accounts: dict[str, int]) -> None:
        """Write one step down."""
        told = {name: count for name, count in sorted(accounts.items()) if count}
        self.steps.append(Noted(step, rows, letters, told))

    def pieces(self) -> Iterator[bytes]:
        """All of it as bytes."""
        told = [[noted.step, len(noted.rows), len(noted.letters), noted.accounts] for noted in self.steps]
        yield plain_json([told, [len(table) for table in self.windows]]).encode()
        yield from table_bytes(noted.rows for noted in self.steps)
        yield from table_bytes(noted.letters for noted in self.steps)
        yield from table_bytes(self.windows)


@dataclass(slots=True)
class Tape:
    """The operators of one case, in the order they were made; and how it came out, where it says so."""

    tracks: list[Track] = field(default_factory=list)
    verdict: str = ""

    def track(self, spec: Any) -> Track:
        """A track for one more operator."""
        self.tracks.append(Track(spec))
        return self.tracks[-1]

    def line(self) -> Line:
        """What a recording keeps."""
        accounts: Counter[str] = Counter()
        for track in self.tracks:
            accounts.update(track.steps[-1].accounts if track.steps else {})
        steps = [noted for track in self.tracks for noted in track.steps]
        said = {"verdict": self.verdict} if self.verdict else {}
        return {
            "digest": digest(piece for track in self.tracks for piece in track.pieces()),
            "rows": sum(len(noted.rows) for noted in steps),
            "letters": sum(len(noted.letters) for noted in steps),
            "accounts": dict(sorted(accounts.items())),
            **said,
        }

    def shown(self) -> Iterator[str]:
        """Every step with its rows, its letters and its accounts, to be laid beside those of another commit."""
        for number, track in enumerate(self.tracks):
            for place, noted in enumerate(track.steps):
                yield f"operator {number}, step {place}: {noted.step}, accounts {noted.accounts}"
                yield from _rows("row", noted.rows)
                yield from _rows("letter", noted.letters)
            for table in track.windows:
                yield from _rows("window", table)
            if track.steps:
                yield f"operator {number} gives {_types(track.steps[-1].rows)}"
                yield f"operator {number} buries {_types(track.steps[-1].letters)}"


def digest(pieces: Iterator[bytes]) -> str:
    """Some bytes, told apart from any others; where one piece ends and the next begins counts."""
    whole = hashlib.sha256()
    for piece in pieces:
        whole.update(b"%d:" % len(piece))
        whole.update(piece)
    return whole.hexdigest()[:DIGITS]


def _rows(what: str, table: pa.Table) -> Iterator[str]:
    return (f"  {what} {row!r}" for row in table.to_pylist())


def _types(table: pa.Table) -> str:
    return ", ".join(f"{field.name}: {field.type}{'' if field.nullable else ' not null'}" for field in table.schema)
