"""The documents of specs, as manifests and snapshots hold them: of every vector, shape and snapshot; some in full."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import shapes, vectors
from .canonical import plain_json
from .engines import to_document
from .pipelines import PIPELINES
from .tape import Line, digest

FULL = Path(__file__).parent / "documents-full.json"
IN_FULL = [
    *("calm-00", "calm-01", "calm-04", "kind-00", "kind-03", "kind-09", "kind-12", "kind-15"),
    *("kind-18", "kind-21", "kind-24", "kind-30", "lossy-04", "lossy-10"),
]
"""Shapes of every kind of window that a document can hold, and with triggers and semantics of several kinds."""


def specs() -> dict[str, list[Any]]:
    """The specs by case; a vector may have several, and one that is only about watermarks has none."""
    played = {name: vectors.played("embedded", name).tracks for name in vectors.cases()}
    return {
        **{f"vector {name}": [track.spec for track in tracks] for name, tracks in played.items() if tracks},
        **{f"shape {name}": [shape.spec] for name, shape in shapes.SHAPES.items()},
        **{f"snapshot {name}": [pipeline.spec] for name, pipeline in PIPELINES.items()},
    }


def line(specs: list[Any]) -> Line:
    """What a recording keeps: the digest, because only all of it counts."""
    return {"digest": digest(plain_json(to_document(spec)).encode() for spec in specs)}


def full(name: str) -> Any:
    """The document of a shape."""
    return to_document(shapes.SHAPES[name].spec)


def kept() -> dict[str, Any]:
    """The documents that the commit before wrote."""
    documents: dict[str, Any] = json.loads(FULL.read_text(encoding="utf-8"))
    return documents


def keep() -> None:
    """Write some documents down, for commits to come."""
    lines = (f"{json.dumps(name)}: {plain_json(full(name))}" for name in IN_FULL)
    FULL.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def shown(specs: list[Any]) -> Iterator[str]:
    """The documents, to be laid beside those of another commit."""
    return (json.dumps(to_document(spec), indent=1, ensure_ascii=False) for spec in specs)
