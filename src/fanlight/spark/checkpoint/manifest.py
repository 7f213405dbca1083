"""The manifest of a checkpoint: a file that describes the pipeline it belongs to.

    checkpoint/
    ├── fanlight/manifest.json     this; written before the first batch
    ├── fanlight/lock              held while a query runs
    └── metadata, offsets/, commits/, state/ …     Spark's

A restart is compared with it before anything is changed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from fanlight.errors import InputError, StateError
from fanlight.model.join.sided import SidedSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.spec_json import Document, from_document
from fanlight.operators.fingerprint import FORMAT, Change, changes, fingerprint, refuse, require_readable
from fanlight.spark.checkpoint.folder import Folder
from fanlight.spark.checkpoint.lease import Lease

if TYPE_CHECKING:
    from fanlight.spark.run import SparkRun

MANIFEST = "fanlight/manifest.json"
LOCK = "fanlight/lock"
BEGUN = "offsets"
"""Spark's folder of batches that were begun."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a pipeline; most pipelines have one."""

    spec: Document
    input: list[list[str]]
    """Each column and its type, in words."""
    shards: list[int]
    arrow: str
    """The columns as Arrow writes them down, in base 64."""
    shares: bool = False
    """Whether it runs in the shards of the stage before."""
    placed_by_packer: bool = False
    """Whether the packer places all its keys, not Spark's hash."""

    @classmethod
    def of(cls, run: SparkRun) -> Stage:
        """The description of a run."""
        known = fingerprint(run.spec, run.bound.schema, run.ids)
        arrow = base64.b64encode(run.bound.schema.serialize()).decode()
        return cls(known["spec"], known["input"], known["shards"], arrow, run.shares, run.placed_by_packer)

    def looked_into(self) -> WindowSpec | SidedSpec:
        """The spec; a `SpecError` where Python code is part of it, an `InputError` where nothing of it can be read."""
        return require_looked_into(from_document(self.spec))

    def schema(self) -> pa.Schema:
        """The columns of the input."""
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(self.arrow)))


@dataclass(frozen=True, slots=True)
class Manifest:
    """The pipeline of a checkpoint, stage by stage."""

    stages: tuple[Stage, ...]
    partitions: int
    format: int = FORMAT

    @classmethod
    def of(cls, run: SparkRun) -> Manifest:
        """The manifest of a pipeline that is about to run."""
        partitions = int(run.source.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)
        return cls(tuple(Stage.of(stage) for stage in [*run.befores, run]), partitions)

    def encode(self) -> bytes:
        """The bytes of the file."""
        content = asdict(self)
        return json.dumps({"manifest": content, "checksum": _checksum(content)}, indent=1).encode() + b"\n"

    @classmethod
    def decode(cls, data: bytes, where: str) -> Manifest:
        """The manifest that `encode` wrote; a `StateError` if it is damaged or of a newer Fanlight."""
        try:
            whole = json.loads(data)
            content, checksum = whole["manifest"], whole["checksum"]
        except (ValueError, KeyError, TypeError) as problem:
            raise _damaged(where) from problem
        if checksum != _checksum(content):
            raise _damaged(where)
        require_readable(content["format"], f"The checkpoint {where!r}")
        return cls(tuple(Stage(**stage) for stage in content["stages"]), content["partitions"], content["format"])

    def changes(self, now: Manifest) -> list[Change]:
        """What differs in the manifest `now`, of the pipeline that wants to continue."""
        if len(self.stages) != len(now.stages):
            told = f"stages: {len(self.stages)} before, {len(now.stages)} now"
            return [Change(told, "Declare the pipeline as it was.")]
        found: list[Change] = []
        for place, (before, after) in enumerate(zip(self.stages, now.stages, strict=True), 1):
            if self.partitions != now.partitions:
                after = replace(after, shards=before.shards)  # which there are follows from it
            label = "" if len(self.stages) == 1 else f"stage {place}: "
            found += [replace(one, told=label + one.told) for one in changes(asdict(before), asdict(after))]
        if self.partitions != now.partitions:
            told = f"partitions: {self.partitions} before, {now.partitions} now"
            remedy = f"Set spark.sql.shuffle.partitions to {self.partitions} before the pipeline is declared."
            found.append(Change(told, remedy))
        return found


def guard(checkpoint: str | os.PathLike[str], manifest: Manifest) -> Lease:
    """Check that a query with this manifest may run on `checkpoint`; returns the lease to hold while it runs.

    Called before a query starts. A new checkpoint gets the manifest. One of another pipeline, one that a plain
    `writeStream` began, and one on which a query is running are refused, and nothing in them is changed.
    """
    folder = Folder.of(checkpoint)
    _require_fit(folder, manifest)
    lease = Lease.take(None if folder.local is None else folder.local / LOCK)
    try:
        stored = _require_fit(folder, manifest)  # again: another process may have been first
        if stored != manifest:
            folder.write(MANIFEST, manifest.encode())
    except BaseException:
        lease.release()
        raise
    return lease


def read_manifest(folder: Folder) -> Manifest | None:
    """The manifest of a checkpoint; None if it has none."""
    data = folder.read(MANIFEST)
    return None if data is None else Manifest.decode(data, folder.text)


def _require_fit(folder: Folder, manifest: Manifest) -> Manifest | None:
    """Refuse a checkpoint of another pipeline; returns its manifest, None if no batch was ever begun."""
    if not folder.names(BEGUN):
        return None
    stored = read_manifest(folder)
    if stored is None:
        raise StateError(
            f"The checkpoint {folder.text!r} was begun by a query that write_to did not start: Spark's files are "
            f"there, and no {MANIFEST}; so its pipeline is unknown. Go on as it was begun, with .df.writeStream, "
            "or choose another checkpoint for write_to."
        )
    refuse(stored.changes(manifest), f"The checkpoint {folder.text!r}")
    return stored


def _checksum(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _damaged(where: str) -> StateError:
    return StateError(
        f"The checkpoint {where!r} has a damaged {MANIFEST}: it is not what Fanlight wrote. "
        "Restore that file from a copy of the checkpoint, or start anew with another checkpoint."
    )


def require_looked_into(spec: object) -> WindowSpec | SidedSpec:
    """The spec of a windowed aggregate or of a join; any other is refused: only these keep what can be looked into."""
    if not isinstance(spec, WindowSpec | SidedSpec):
        raise InputError(
            "inspect: this pipeline keeps no windows. Only windowed aggregates and joins can be looked into."
        )
    return spec
