"""Snapshots taken in the middle of a run, and what comes of the rest of the input after one is restored."""

from __future__ import annotations

import zlib
from pathlib import Path

import fanlight as fl

from .pipelines import BUNDLES, HALF, PIPELINES, SCHEMA
from .tape import Tape, Track

FOLDER = Path(__file__).parent / "snapshots"


def file_of(name: str) -> Path:
    """Where the snapshot of a pipeline is kept, compressed."""
    return FOLDER / f"{name.replace(',', '').replace(' ', '-')}.zlib"


def kept(name: str) -> bytes:
    """The snapshot that the commit before wrote."""
    return zlib.decompress(file_of(name).read_bytes())


def keep(name: str) -> None:
    """Write the snapshot of a pipeline down, for commits to come."""
    file_of(name).write_bytes(zlib.compress(taken(name), 9))


def taken(name: str) -> bytes:
    """The snapshot of a pipeline that has taken half of its input in."""
    pipeline = PIPELINES[name]
    operator = fl.WindowOperator(pipeline.spec, schema=SCHEMA)
    for number in range(HALF):
        pipeline.take(operator, number)
        if not pipeline.waits:
            operator.take()
            operator.take_dead_letters()
    return operator.snapshot()


def gone_on(name: str, snapshot: bytes) -> Tape:
    """What is in a snapshot, and what the rest of the input gives after it."""
    pipeline, tape = PIPELINES[name], Tape()
    operator = fl.WindowOperator.restore(pipeline.spec, snapshot)
    track = tape.track(pipeline.spec)
    _note(track, "restored", operator)
    for number in range(HALF, BUNDLES + 1):
        pipeline.take(operator, number)
        _note(track, f"bundle {number}", operator)
    return tape


def _note(track: Track, step: str, operator: fl.WindowOperator) -> None:
    """What left, and what is there to be read."""
    track.note(step, operator.take(), operator.take_dead_letters(), operator.accounting.as_dict())
    track.windows.append(operator.windows())
    if operator.spec.retention is not None:
        track.windows.append(operator.messages())
