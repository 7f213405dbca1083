"""Every case of every file of vectors."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from fanlight.testing.vectors import Vector, load, replay

from .engines import recording
from .tape import Tape

FILES = Path(__file__).parent.parent / "vectors"


@cache
def cases() -> dict[str, Vector]:
    """The cases by name."""
    return {vector.name: vector for file in sorted(FILES.glob("*.yaml")) for vector in load(file)}


@cache
def played(engine: str, name: str) -> Tape:
    """What a case gives; why it is not adopted, if it is not, is for its own tests."""
    tape = Tape()
    with recording(engine, tape) as recorded:
        tape.verdict = replay(cases()[name], recorded).status.value
    return tape
