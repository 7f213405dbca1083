"""A private folder of this user under the temporary folder: nobody else can read it, write to it or have made it.

    fanlight-user-1000/      of this user, mode 700, no link; else it is refused
    └── shipped-4711/        what somebody keeps
        ├── .of-4711         for the process 4711: the next one that comes removes the folder, once all such are dead
        └── fanlight.zip

Its name can be guessed, so another user may have made the folder, or a link of that name, first. Each part is therefore
opened without following links and checked while it is open, and its content is reached only through the open folder.
"""

from __future__ import annotations

import atexit
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fanlight.errors import EngineError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


_OF = ".of-"


class PrivateFolder:
    """An open folder that only this user can reach; closed by whoever opened it."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._folder = descriptor

    def names(self) -> list[str]:
        """The names in the folder."""
        return sorted(os.listdir(self._folder))  # noqa: PTH208 -- a path could lead elsewhere by now

    def read(self, name: str) -> bytes | None:
        """The content of a file of this user; None if there is no such file."""
        try:
            file = os.open(name, _READ, dir_fd=self._folder)
        except OSError:
            return None
        with os.fdopen(file, "rb") as stream:
            found = os.fstat(file)
            return stream.read() if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() else None

    def write(self, name: str, content: bytes) -> None:
        """Put a file in place, whole or not at all; what was there by that name, a link too, is replaced."""
        draft = f".{name}.{os.getpid()}"
        self.remove(draft)  # left by a dead process with the same number
        with os.fdopen(os.open(draft, _DRAFT, 0o600, dir_fd=self._folder), "wb") as stream:
            stream.write(content)
        os.replace(draft, name, src_dir_fd=self._folder, dst_dir_fd=self._folder)

    def remove(self, name: str) -> None:
        """Remove a file, or a folder with all that is in it; a link goes, and what it leads to stays."""
        try:
            os.unlink(name, dir_fd=self._folder)
        except IsADirectoryError:
            shutil.rmtree(name, ignore_errors=True, dir_fd=self._folder)
        except FileNotFoundError:
            return

    @contextmanager
    def folder(self, name: str) -> Iterator[PrivateFolder]:
        """The folder of that name in here, open; made if it is not there."""
        with _opened(self.path / name, name, self._folder) as found:
            yield found


@contextmanager
def private_folder() -> Iterator[PrivateFolder]:
    """The private folder of this user, open; made if it is not there, an `EngineError` if it cannot be trusted."""
    if not hasattr(os, "geteuid"):
        raise EngineError("A private folder needs owners and modes of files, and this system has none.")
    path = Path(tempfile.gettempdir(), f"fanlight-user-{os.geteuid()}")
    with _opened(path, str(path)) as found:
        yield found


@contextmanager
def kept_folder(name: str, process: int) -> Iterator[PrivateFolder]:
    """The folder `name` in the private one, open, for as long as `process` lives; made if it is not there."""
    with private_folder() as private, private.folder(name) as found:
        found.write(f"{_OF}{process}", b"")
        yield found


def remove_leftovers() -> None:
    """Remove the folders of processes that are dead by now."""
    with private_folder() as private:
        for name in private.names():
            if not _is_kept(private, name):
                private.remove(name)


def remove_at_exit(name: str) -> None:
    """Remove the folder `name` when this process ends; a child that was forked from it leaves it alone."""
    atexit.register(_removed, name, os.getpid())


def _removed(name: str, process: int) -> None:
    if process == os.getpid():
        with suppress(OSError, EngineError), private_folder() as private:
            private.remove(name)


def _is_kept(private: PrivateFolder, name: str) -> bool:
    try:
        with private.folder(name) as found:
            return any(_lives(int(one.removeprefix(_OF))) for one in found.names() if one.startswith(_OF))
    except (OSError, ValueError, EngineError):
        return False


@contextmanager
def _opened(path: Path, name: str, within: int | None = None) -> Iterator[PrivateFolder]:
    with suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=within)
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=within)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.ENOTDIR):
            raise _untrusted(path, "it is a link or a file") from None
        raise
    try:
        _require_private(path, os.fstat(descriptor))
        yield PrivateFolder(path, descriptor)
    finally:
        os.close(descriptor)


def _require_private(path: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid():
        raise _untrusted(path, f"the user {found.st_uid} owns it, and this is {os.geteuid()}")
    mode = stat.S_IMODE(found.st_mode)
    if mode & 0o077:
        raise _untrusted(path, f"its mode is {mode:o}, and others may reach into it")


def _untrusted(path: Path, why: str) -> EngineError:
    return EngineError(
        f"The folder {str(path)!r} cannot be trusted: {why}. Remove it, or set TMPDIR to a folder of your own."
    )


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
