"""The private folder: what another user has put in its place is never followed, read or written to."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import fanlight as fl
from fanlight.model.time.timestamp import START_OF_TIME
from fanlight.spark import last_watermark as horizon
from fanlight.spark import shipping
from fanlight.spark.last_watermark import Notes
from fanlight.spark.private_folder import kept_folder, private_folder, remove_leftovers

STRANGER = 4711


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the private folder will be, in a temporary folder of the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"fanlight-user-{os.geteuid()}"


def noted(query: str = "q") -> int | None:
    """What batch 8 finds, after batch 7 has left a watermark of 5."""
    Notes(query, 7, os.getpid()).leave(5)
    return Notes(query, 8, os.getpid()).found()


def is_refused(capfd: pytest.CaptureFixture[str]) -> str:
    """Nothing is known, that is said once, and `ship` sends nothing; why."""
    assert noted() is None
    assert noted() is None
    told = capfd.readouterr().err
    assert told.count("Fanlight pre-aggregates no records before they travel: ") == 1
    with pytest.raises(fl.EngineError, match="cannot be trusted"):
        shipping.keep_archive("fanlight.zip", b"archive")
    return told


def test_what_one_batch_leaves_the_next_one_finds(folder: Path) -> None:
    assert noted() == 5
    assert noted("another") == 5
    assert Notes("q", 0, os.getpid()).found() == START_OF_TIME
    assert Notes("q", 7, os.getpid()).found() is None
    assert {part.stat().st_mode & 0o777 for part in (folder, *folder.glob("*"))} == {0o700}


def test_a_link_in_its_place_is_not_followed(folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    theirs = tmp_path / "checkpoint"
    theirs.mkdir(mode=0o700)
    folder.symlink_to(theirs)
    assert "it is a link or a file" in is_refused(capfd)
    assert not list(theirs.iterdir())


def test_a_file_in_its_place_is_left_alone(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder.write_text("mine")
    assert "it is a link or a file" in is_refused(capfd)
    assert folder.read_text() == "mine"


def test_a_folder_of_another_user_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where the test may give the folder away it does; else it says to be another user than the one who owns it."""
    folder.mkdir(mode=0o700)
    if os.geteuid() == 0:
        os.chown(folder, STRANGER, STRANGER)
        assert "the user 4711 owns it, and this is 0" in is_refused(capfd)
    else:
        owner = os.geteuid()
        folder = folder.rename(folder.with_name(f"fanlight-user-{STRANGER}"))
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
        assert f"the user {owner} owns it, and this is 4711" in is_refused(capfd)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_folder_that_others_may_reach_into_is_not_used(
    folder: Path, mode: int, capfd: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir()
    folder.chmod(mode)
    assert f"its mode is {mode:o}" in is_refused(capfd)
    assert not list(folder.iterdir())


def test_the_remedy_works(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`Remove it, or set TMPDIR to a folder of your own.`"""
    folder.mkdir(mode=0o755)
    assert noted() is None
    (tmp_path / "own").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "own"))
    assert noted() == 5
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder.rmdir()
    assert noted() == 5


def test_links_inside_are_neither_read_nor_written_through(folder: Path, tmp_path: Path) -> None:
    """Somebody had got in before: at each level a link leads to a file or folder of this user's."""
    victim = tmp_path / "manifest.json"
    victim.write_text("9")
    notes = folder / "q"
    for part in (folder, notes):
        part.mkdir(mode=0o700)
    (notes / f".of-{os.getpid()}").symlink_to(victim)
    (notes / "7").symlink_to(victim)
    assert Notes("q", 8, os.getpid()).found() is None
    assert noted() == 5
    (folder / "elsewhere").symlink_to(tmp_path)
    with private_folder() as private, pytest.raises(fl.EngineError, match="link"), private.folder("elsewhere"):
        pass
    with private_folder() as private:
        private.remove("elsewhere")
    assert victim.read_text() == "9"


def test_an_archive_that_somebody_has_changed_is_written_anew(folder: Path, tmp_path: Path) -> None:
    path = shipping.keep_archive("fanlight.zip", b"archive")
    assert path.parent == folder / f"shipped-{os.getpid()}"
    path.write_bytes(b"evil")
    assert shipping.keep_archive("fanlight.zip", b"archive").read_bytes() == b"archive"
    path.unlink()
    planted = tmp_path / "planted"
    planted.write_bytes(b"archive")
    path.symlink_to(planted)
    assert not shipping.keep_archive("fanlight.zip", b"archive").is_symlink()
    if os.geteuid() == 0:
        os.chown(path, STRANGER, STRANGER)
        assert shipping.keep_archive("fanlight.zip", b"archive").stat().st_uid == 0


def test_what_dead_processes_left_is_removed(folder: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    for name, processes in (("dead", [dead.pid]), ("shared", [dead.pid, os.getppid()]), ("nobodys", [])):
        for process in processes:
            with kept_folder(name, process) as notes:
                notes.write("1", b"5")
        (folder / name).mkdir(mode=0o700, exist_ok=True)
    assert noted() == 5
    assert sorted(part.name for part in folder.iterdir()) == ["q", "shared"]
    remove_leftovers()
    assert (folder / "shared" / "1").read_bytes() == b"5"


def test_a_process_that_shipped_leaves_nothing_behind(tmp_path: Path) -> None:
    program = "from fanlight.spark.shipping import keep_archive; print(keep_archive('a.zip', b'archive').read_bytes())"
    environment: dict[str, Any] = {**os.environ, "TMPDIR": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout == "b'archive'\n"
    assert not list(tmp_path.glob("fanlight-user-*/*"))


def test_a_query_that_has_ended_leaves_nothing_behind(folder: Path) -> None:
    assert noted() == 5
    assert noted("another") == 5
    horizon.forget("q")
    assert [part.name for part in folder.iterdir()] == ["another"]
