"""A checkpoint that the operating system does not let us at is named, with what to do; nothing raw comes up."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import fanlight as fl
from fanlight.spark.checkpoint.folder import Folder
from fanlight.spark.checkpoint.lease import Lease
from fanlight.spark.checkpoint.manifest import LOCK, Manifest, guard, read_manifest

NOBODY = 65534


def as_nobody(ask: Callable[[], object]) -> str:
    """What a user who may not look in here is told; a process of its own, where this one is root's."""
    if os.geteuid() != 0:
        with pytest.raises(fl.EngineError) as refusal:
            ask()
        return str(refusal.value)
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads are left behind, and none is needed
        child = os.fork()
    if child == 0:
        os.setresuid(NOBODY, NOBODY, NOBODY)
        try:
            ask()
        except BaseException as problem:  # noqa: BLE001 -- whatever it is, the parent is told
            os.write(writing, f"{type(problem).__name__}: {problem}".encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as told:
        return told.read().removeprefix("EngineError: ")


@pytest.fixture
def locked(tmp_path: Path) -> Path:
    """A checkpoint that only its owner may enter, and here not even he."""
    checkpoint = tmp_path / "checkpoint"
    (checkpoint / "fanlight").mkdir(parents=True)
    (checkpoint / "fanlight" / "manifest.json").write_text("{}")
    (checkpoint / "offsets").mkdir()
    checkpoint.chmod(0)
    return checkpoint


def test_what_may_not_be_read_or_written_is_said_with_the_remedy(locked: Path) -> None:
    folder = Folder.of(locked)
    for ask in (
        lambda: folder.names("offsets"),
        lambda: read_manifest(folder),
        lambda: folder.write("fanlight/manifest.json", b""),
        lambda: guard(locked, Manifest((), 2)),
        lambda: Lease.take(locked / LOCK),
    ):
        told = as_nobody(ask)
        assert str(locked) in told
        assert "Permission denied" in told
        assert "Let the user of this process read and write there, or choose another checkpoint." in told


def test_a_file_where_a_folder_should_be_is_said_too(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text("mine")
    with pytest.raises(fl.EngineError, match="cannot be read or written"):
        guard(tmp_path / "checkpoint", Manifest((), 2))
    assert (tmp_path / "checkpoint").read_text() == "mine"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"manifest": [], "checksum": ""}', b"\xff\xfe"])
def test_a_manifest_that_is_no_json_is_damaged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "fanlight").mkdir()
    (tmp_path / "fanlight" / "manifest.json").write_bytes(content)
    with pytest.raises(fl.StateError, match=r"has a damaged fanlight/manifest\.json.*Restore that file"):
        read_manifest(Folder.of(tmp_path))
