"""The package as it was and as it is: the files of a commit, a copy of this checkout, and how to run with either."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from shutil import copytree, ignore_patterns
from tempfile import TemporaryDirectory

from benchmarks import results

HERE = results.ROOM.parent


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The files of a commit, in a folder that goes again."""
    with TemporaryDirectory(prefix="fanlight-then-") as folder:
        git = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", f"{folder}/then", commit], check=True)
        try:
            yield Path(folder, "then")
        finally:
            subprocess.run([*git, "remove", "--force", f"{folder}/then"], check=True)


@contextmanager
def copied() -> Iterator[Path]:
    """Package and benchmarks of this checkout as they are now, whatever becomes of it during a long run."""
    with TemporaryDirectory(prefix="fanlight-now-") as folder:
        for room in ("src", results.ROOM.name):
            copytree(HERE / room, Path(folder, room), ignore=ignore_patterns("__pycache__", "data"))
        yield Path(folder)


def environment(checkout: Path, benchmarks: Path = HERE) -> dict[str, str]:
    """The environment of a process that has the package of one checkout and the benchmarks of another."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(checkout / "src"), str(benchmarks)])}


def package_digest(checkout: Path) -> str:
    """A short name for the package of a checkout: the same text has the same name."""
    digest = sha256()
    for path in sorted((checkout / "src").rglob("*.py")):
        digest.update(f"{path.relative_to(checkout).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
