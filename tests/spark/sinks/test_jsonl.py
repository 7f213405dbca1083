"""A file of JSON lines after crashes at any byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fanlight.errors import SinkError
from fanlight.sinks.batch import Part
from fanlight.sinks.jsonl import SIDECAR, JsonLinesSink, committed_length

from .orders import BUNDLES, corrected, handed, room_for, shape_of, stepped

SHAPE = shape_of(corrected)
FIRED = stepped(corrected, BUNDLES)


def written(file: Path, *batches: int) -> None:
    for number in batches:
        JsonLinesSink(str(file), Part.ROWS).write(handed(SHAPE, number, FIRED[number]))


def read(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_the_changelog_is_there_as_it_fired(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "t.jsonl"
    written(file, *range(len(FIRED)))
    expected = pa.concat_tables(FIRED).to_pylist()
    assert [(row["k"], row["n"], row["values"], row["pane"]["op"]) for row in read(file)] == [
        (row["k"], row["n"], row["values"], row["pane"]["op"]) for row in expected
    ]
    assert read(file)[0]["window"]["start"] == "2025-12-31T23:59:50.000000Z"
    assert committed_length(file) == file.stat().st_size


@pytest.mark.parametrize("torn", [b"", b'{"k":"a"', b'{"k":"a"}\n{"k'])
def test_what_a_crash_left_behind_is_cut_off_and_the_batch_written_again(tmp_path: Path, torn: bytes) -> None:
    """The driver died after some bytes of batch 2, or after all of it and before the sidecar."""
    whole, file = tmp_path / "whole.jsonl", tmp_path / "t.jsonl"
    written(whole, 0, 1, 2, 3)
    written(file, 0, 1)
    with file.open("ab") as handle:
        handle.write(torn)
    written(file, 1, 2, 2, 3)
    assert file.read_bytes() == whole.read_bytes()


def test_a_full_disk_leaves_whole_batches_only(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    written(file, 0)
    before = file.read_bytes()
    large = pa.concat_tables(FIRED * 100)
    assert len(before) < 1 << 14
    with room_for(1 << 14), pytest.raises(SinkError, match=r"t\.jsonl did not take batch 1: .*File too large"):
        JsonLinesSink(str(file), Part.ROWS).write(handed(SHAPE, 1, large))
    assert file.read_bytes() == before
    JsonLinesSink(str(file), Part.ROWS).write(handed(SHAPE, 1, large))
    assert len(read(file)) == len(FIRED[0]) + len(large)


def test_a_file_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("mine\n")
    with pytest.raises(SinkError, match="holds 5 bytes that nothing says Fanlight wrote"):
        written(file, 0)
    assert file.read_text() == "mine\n"
    assert not (tmp_path / f"t.jsonl{SIDECAR}").exists()


def test_a_file_takes_the_batches_of_one_query(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    written(file, 0)
    with pytest.raises(SinkError, match="it belongs to query 'q', and one file takes the batches of one query"):
        JsonLinesSink(str(file), Part.ROWS).write(handed(SHAPE, 0, FIRED[0], query="other"))
