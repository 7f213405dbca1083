"""Snapshots: many chunks as bytes. Chunks with the same columns are written as one, with a directory of their rows.

    chunks       partials/7/0  partials/8/1  partials/9/2          index/0/0
    one stream   [ 3 rows     | 1 row       | 2 rows     ]         [ 1 row ]
    directory    slice, sequence and rows of each chunk, in order

A chunk by itself costs a kilobyte for the names and types of its columns, however few rows it has, and a few rows are
not worth narrowing. The payload is the length of a JSON text (8 bytes), the text, padded to 8 bytes, and streams of
Arrow IPC: the directory, then one a group. Equal states give equal bytes.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from fanlight.errors import StateError
from fanlight.state.codec import FrameKind, batch_of, framed, payload_of, stream_of
from fanlight.state.store import Address

_LENGTH = struct.Struct("<Q")
_ALIGNMENT = 8
_DIRECTORY = ("group", "slice", "sequence", "rows")

Chunks = Mapping[Address, pa.RecordBatch]


def encode_snapshot(chunks: Chunks, metadata: Mapping[str, Any]) -> bytes:
    """The bytes of many chunks and of `metadata`, which must be JSON data."""
    groups = [part for group in _groups(chunks) for part in _joined(chunks, group)]
    directory = _directory(chunks, [group for group, _ in groups])
    streams = [stream_of(batch) for batch in (directory, *(joined for _, joined in groups))]
    said = {
        "metadata": dict(metadata),
        "spaces": [group[0].space for group, _ in groups],
        "streams": [stream.size for stream in streams],
    }
    try:
        text = json.dumps(said, sort_keys=True, separators=(",", ":")).encode()
    except (TypeError, ValueError) as problem:
        raise StateError(
            f"snapshot: `metadata` cannot be written as JSON ({problem}). Use text, numbers, lists and dicts only."
        ) from problem
    padding = bytes(-len(text) % _ALIGNMENT)
    return framed(FrameKind.SNAPSHOT, [_LENGTH.pack(len(text)), text, padding, *streams])


def decode_snapshot(data: bytes) -> tuple[dict[Address, pa.RecordBatch], dict[str, Any]]:
    """The chunks by address and the metadata that `encode_snapshot` wrote."""
    payload = payload_of(FrameKind.SNAPSHOT, data)
    (length,) = _LENGTH.unpack_from(payload)
    place = _LENGTH.size + length
    said = json.loads(bytes(payload[_LENGTH.size : place]))
    place += -length % _ALIGNMENT
    batches = []
    for size in said["streams"]:
        batches.append(batch_of(payload[place : place + size]))
        place += size
    directory, *groups = batches
    spaces = said["spaces"]
    chunks, before, start = {}, -1, 0
    for group, slice_, sequence, rows in zip(*(directory.column(name).to_pylist() for name in _DIRECTORY), strict=True):
        start = 0 if group != before else start
        chunks[Address(spaces[group], slice_, sequence)] = groups[group].slice(start, rows)
        before, start = group, start + rows
    return chunks, said["metadata"]


def _groups(chunks: Chunks) -> Iterator[list[Address]]:
    """Groups of addresses, in order, whose chunks can be written as one: same space, same columns."""
    for _, addresses in groupby(sorted(chunks), key=lambda address: address.space):
        known: list[tuple[pa.Schema, list[Address]]] = []  # what more can be joined to
        for address in addresses:
            schema = chunks[address].schema
            members = next((members for other, members in known if other.equals(schema, check_metadata=True)), None)
            if members is not None:
                members.append(address)
            elif _can_be_joined(schema):
                known.append((schema, [address]))
            else:
                yield [address]
        yield from (members for _, members in known)


def _joined(chunks: Chunks, group: list[Address]) -> Iterator[tuple[list[Address], pa.RecordBatch]]:
    """The chunks of a group as one batch; as several if one cannot hold that much text."""
    if len(group) == 1:
        yield group, chunks[group[0]]
        return
    batches = pa.Table.from_batches([chunks[address] for address in group]).combine_chunks().to_batches()
    if len(batches) > 1:
        half = len(group) // 2
        yield from _joined(chunks, group[:half])
        yield from _joined(chunks, group[half:])
    else:
        yield group, batches[0] if batches else chunks[group[0]]


def _directory(chunks: Chunks, groups: list[list[Address]]) -> pa.RecordBatch:
    """A row for each chunk, group by group, in the order of their rows."""
    addresses = [address for group in groups for address in group]
    columns = [
        np.repeat(np.arange(len(groups)), [len(group) for group in groups]),
        np.array([address.part for address in addresses], np.int64),
        np.array([address.sequence for address in addresses], np.int64),
        np.array([len(chunks[address]) for address in addresses], np.int64),
    ]
    return pa.record_batch([pa.array(column) for column in columns], names=list(_DIRECTORY))


def _can_be_joined(schema: pa.Schema) -> bool:
    """Whether columns are of types that Arrow puts one after the other as they are."""
    return bool(len(schema)) and all(_is_plain(field.type) for field in schema)


def _is_plain(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return all(_is_plain(kind.field(place).type) for place in range(kind.num_fields))
    if isinstance(kind, pa.ExtensionType):
        return False
    texts = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    bytes_ = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind) or texts or bytes_)
