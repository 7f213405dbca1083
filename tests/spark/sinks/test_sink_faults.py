"""Every kind of file of a sink, damaged in every way, and the next batches handed over.

Either they are refused, or the place ends as one that was never harmed. What a place itself does not notice is in
`THE_PLACES_OWN`, and named in docs/reliability.md.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fanlight.errors import SinkError

from .faults import FAULTS, flipped
from .places import FIRED, PLACES, FolderPlace, LinesPlace, Place, SqlitePlace

FLIPS = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 3
"""Bits of each file, drawn by lot, beside the one in the middle."""
BEFORE = 5
"""So many batches are written before the damage; three are left."""

KINDS: list[tuple[type[Place], str]] = [
    (SqlitePlace, "t.db"),
    (SqlitePlace, "t.db-wal"),
    (SqlitePlace, "t.db-shm"),
    (LinesPlace, "t.jsonl"),
    (LinesPlace, "t.jsonl.fanlight"),
    (FolderPlace, "t/_fanlight.json"),
    (FolderPlace, "t/batch=00000001/part-0.parquet"),
]
THE_PLACES_OWN = {
    ("t.db", "flip"): "SQLite has no checksums over its pages",
    ("t/batch=00000001/part-0.parquet", "flip"): "a parquet file is read by its readers only",
    ("t/batch=00000001/part-0.parquet", "truncate"): "the same; to a reader it is damaged",
    ("t/batch=00000001/part-0.parquet", "empty"): "the same; to a reader it is damaged",
    ("t/batch=00000001/part-0.parquet", "delete"): "the same",
}


def begun(place: Place) -> None:
    """Write the first batches. A reader beside them keeps SQLite's log from being folded into its file."""
    place.folder.mkdir(parents=True)
    if isinstance(place, SqlitePlace):
        with closing(sqlite3.connect(place.file)) as reader:
            place.write(0)
            reader.execute("SELECT COUNT(*) FROM totals").fetchall()
            place.write(*range(1, BEFORE))
            shutil.copytree(place.folder, place.folder.with_name("kept"))
        shutil.rmtree(place.folder)
        place.folder.with_name("kept").rename(place.folder)
    else:
        place.write(*range(BEFORE))


def outcome(place: Place, unharmed: object) -> str:
    """What comes of the batches that are left, and of the content."""
    try:
        place.sink.check(place.batch(BEFORE))
        place.write(*range(BEFORE, len(FIRED)))
    except SinkError:
        return "refused"
    try:
        return "same" if place.content() == unharmed else "differs"
    except Exception:  # noqa: BLE001 -- whatever it is, a reader is told
        return "unreadable"


@pytest.mark.parametrize(("kind", "path"), KINDS, ids=[path for _, path in KINDS])
def test_no_damage_to_a_place_makes_a_silent_difference(kind: type[Place], path: str, tmp_path: Path) -> None:
    whole, seed = kind(tmp_path / "whole"), kind(tmp_path / "seed")
    whole.write(*range(len(FIRED)))
    begun(seed)
    assert (seed.folder / path).stat().st_size
    draw = np.random.default_rng(list(path.encode()))
    cases = [*FAULTS.items(), *(("flip", partial(flipped, bit=int(draw.integers(1 << 40)))) for _ in range(FLIPS))]
    for fault, damage in cases:
        harmed = kind(tmp_path / "harmed")
        shutil.copytree(seed.folder, harmed.folder)
        damage(harmed.folder / path)
        said = outcome(harmed, whole.content())
        shutil.rmtree(harmed.folder)
        assert said in ("refused", "same") or (path, fault) in THE_PLACES_OWN, f"{path}, {fault}: {said}"


def test_every_kind_of_file_is_damaged(tmp_path: Path) -> None:
    """But for one that is written beside its place and moved there, and never read."""
    found = set()
    for kind in PLACES.values():
        place = kind(tmp_path / kind.kind)
        begun(place)
        found |= {str(file.relative_to(place.folder)) for file in place.folder.rglob("*") if file.is_file()}
    assert {path.replace("part-1", "part-0") for path in found if "batch=" not in path or "0001" in path} == {
        path for _, path in KINDS
    }
