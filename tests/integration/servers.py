"""A real PostgreSQL and a real MariaDB: each on a free port of loopback, in a temporary folder, ended by its pid."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .install import PACKAGES, program

PASSWORD = "cAnArY-of-the-server"
_SECONDS = 60
_FIRST = f"""CREATE DATABASE shop;
CREATE USER me@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';
CREATE USER me@localhost IDENTIFIED BY '{PASSWORD}';
GRANT ALL ON *.* TO me@'127.0.0.1';
GRANT ALL ON *.* TO me@localhost;
"""
"""A line a statement."""


@dataclass(frozen=True)
class Server:
    """Where a server listens, and how to be let in."""

    url: str
    properties: dict[str, str]


@contextmanager
def postgresql() -> Iterator[Server]:
    with _folder("postgres") as (folder, owner):
        secret = folder / "password"
        _written(secret, PASSWORD, owner)
        create = [_program("initdb"), "-D", f"{folder}/data", "-U", "me", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"]
        _run([*create, "--auth=scram-sha-256", f"--pwfile={secret}"], folder, owner)
        port = _free_port()
        options = ["-D", f"{folder}/data", "-p", str(port), "-h", "127.0.0.1", "-k", str(folder), "-c", "fsync=off"]
        server = _Start([_program("postgres"), *options], "ready to accept connections", signal.SIGINT)
        with _running(server, folder, owner):
            yield Server(f"jdbc:postgresql://127.0.0.1:{port}/postgres", {"user": "me", "password": PASSWORD})


@contextmanager
def mariadb() -> Iterator[Server]:
    with _folder("mysql") as (folder, owner):
        data, port, first = f"--datadir={folder}/data", _free_port(), folder / "first.sql"
        create = [_program("mariadb-install-db"), "--no-defaults", data]
        _run([*create, "--auth-root-authentication-method=normal"], folder, owner)
        _written(first, _FIRST, owner)
        options = [data, f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder}/socket"]
        options += [f"--init-file={first}", f"--pid-file={folder}/pid", "--innodb-flush-log-at-trx-commit=0"]
        server = _Start([_program("mariadbd"), "--no-defaults", *options], "ready for connections", signal.SIGTERM)
        with _running(server, folder, owner):
            yield Server(f"jdbc:mariadb://127.0.0.1:{port}/shop", {"user": "me", "password": PASSWORD})


def _program(name: str) -> str:
    found = program(name)
    assert found is not None, f"{name} is not there: install {', '.join(PACKAGES.values())}, or run make integration"
    return found


@contextmanager
def _folder(account: str) -> Iterator[tuple[Path, int | None]]:
    """A folder, and whose: both servers refuse to run as root, so root lends them the account of their package."""
    owner = pwd.getpwnam(account).pw_uid if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="fanlight-"))
    if owner is not None:
        os.chown(folder, owner, -1)
    try:
        yield folder, owner
    finally:
        shutil.rmtree(folder)


def _written(file: Path, text: str, owner: int | None) -> None:
    file.write_text(text, encoding="utf-8")
    if owner is not None:
        os.chown(file, owner, -1)


def _run(command: list[str], folder: Path, owner: int | None) -> None:
    done = subprocess.run(command, user=owner, cwd=folder, env=_env(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]} failed: {done.stdout}{done.stderr}"


@dataclass(frozen=True)
class _Start:
    """A server as it is started, what it says when it is there, and the signal that ends it at once."""

    command: list[str]
    ready: str
    end: signal.Signals


@contextmanager
def _running(start: _Start, folder: Path, owner: int | None) -> Iterator[None]:
    log = folder / "log"
    with log.open("wb") as output:
        server = subprocess.Popen(start.command, user=owner, cwd=folder, env=_env(), stdout=output, stderr=output)
    try:
        for _ in range(10 * _SECONDS):
            assert server.poll() is None, f"the server ended: {log.read_text()}"
            if start.ready in log.read_text():
                break
            time.sleep(0.1)
        yield
    finally:
        server.send_signal(start.end)
        server.wait(_SECONDS)


def _free_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


def _env() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8"}
