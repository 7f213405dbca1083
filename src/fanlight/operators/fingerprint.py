"""The fingerprint of a pipeline: its declaration, its input columns and its shards. It says whose a state is.

One pipeline cannot read the state of another. So the fingerprint is written to the manifest of a checkpoint, and to the
state of every shard for queries without a manifest. Snapshots of a standalone operator contain its spec as a document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from fanlight.errors import StateError
from fanlight.model.join.sides import COPY
from fanlight.model.spec_json import Document, differences, to_document
from fanlight.model.stream_spec import StreamSpec

FORMAT = 4
"""The version of the state in a checkpoint: it is raised when older state can no longer be read correctly."""

_ANEW = "Or start anew with another checkpoint; what this one holds is untouched."

Fingerprint = Mapping[str, Any]
"""Plain JSON data: `format`, `spec`, `input` (each column and its type), `shards` (their ids)."""


@dataclass(frozen=True, slots=True)
class Change:
    """One difference, and what to do about it."""

    told: str
    remedy: str


def fingerprint(spec: StreamSpec, schema: pa.Schema, ids: Sequence[int]) -> dict[str, Any]:
    """The fingerprint of a pipeline over these columns, on these shards."""
    return {
        "format": FORMAT,
        "spec": to_document(spec),
        "input": [
            [field.name, str(field.type)] for field in schema if field.name != COPY
        ],  # that follows from the spec
        "shards": list(ids),
    }


def require_same(stored: Fingerprint, now: Fingerprint, what: str = "This state") -> None:
    """Refuse the state of another pipeline, and say what differs."""
    require_readable(stored["format"], what)
    refuse(changes(stored, now), what)


def changes(stored: Fingerprint, now: Fingerprint) -> list[Change]:
    """What differs between two fingerprints.

    The `delay` of the watermark and `ahead` may differ: they only concern records to come. And a `unit` may be added or
    left out, because a pipeline without one has read no integer times.
    """
    return [
        *declared_otherwise(stored["spec"], now["spec"]),
        *_columns(stored["input"], now["input"]),
        *_shares(stored, now),
    ]


def declared_otherwise(stored: Document, now: Document) -> list[Change]:
    """What differs between the documents of two specs, apart from what may."""
    free = {"ahead", "unit"} if stored.get("unit") is None or now.get("unit") is None else {"ahead"}
    told = differences(_settled(stored, free), _settled(now, free))
    return [Change(line, "Declare the pipeline as it was.") for line in told]


def refuse(found: Sequence[Change], what: str, otherwise: str = _ANEW) -> None:
    """Raise a `StateError` that tells every change and what to do; nothing happens if there is none."""
    if found:
        told = "\n".join(f"  {change.told}" for change in found)
        remedies = " ".join(dict.fromkeys(change.remedy for change in found))
        raise StateError(f"{what} was written by another pipeline:\n{told}\n{remedies} {otherwise}")


def require_readable(version: int, what: str) -> None:
    """Refuse what another version of Fanlight wrote."""
    if version != FORMAT:
        raise StateError(
            f"{what} has format version {version}; this Fanlight reads version {FORMAT}. "
            "Use the Fanlight that wrote it, or start with a new checkpoint."
        )


def _columns(stored: list[list[str]], now: list[list[str]]) -> list[Change]:
    before, after = (dict(side) for side in (stored, now))
    remedy = f"Give it the columns it had, as in df.select({', '.join(repr(name) for name in before)})."
    return [
        Change(f"input column {name}: {before.get(name, 'none')} before, {after.get(name, 'none')} now", remedy)
        for name in {**before, **after}
        if before.get(name) != after.get(name)
    ]


def _shares(stored: Fingerprint, now: Fingerprint) -> list[Change]:
    before, after = (", ".join(map(str, side["shards"])) for side in (stored, now))
    remedy = "Set spark.sql.shuffle.partitions to what it was, before the pipeline is declared."
    return [] if before == after else [Change(f"shards: {before} before, {after} now", remedy)]


def _settled(spec: dict[str, Any], free: set[str]) -> dict[str, Any]:
    """A declaration without what may change: the fields in `free`, and the delay of its watermark."""
    watermark = {name: part for name, part in spec["watermark"].items() if name != "delay"}
    return {**{name: part for name, part in spec.items() if name not in free}, "watermark": watermark}
