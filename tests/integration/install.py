"""Installs what the integration tests need where it may, and says which packages to install where it may not.

    python tests/integration/install.py

Debian's own services are not started: the tests start servers of their own. Maven fetches the jars of the recipes.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGES = {"initdb": "postgresql", "mariadbd": "mariadb-server", "mvn": "maven", "node": "nodejs"}
_JARS = Path(__file__).parents[2] / "examples" / "kafka_to_postgres" / "jars.py"
_POLICY = Path("/usr/sbin/policy-rc.d")


def program(name: str) -> str | None:
    """Where a program of a database is; Debian keeps PostgreSQL's out of the way, by version."""
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    return str(beside[-1]) if beside else shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def main() -> int:
    missing = [package for name, package in PACKAGES.items() if program(name) is None]
    if missing and not _installed(missing):
        return 1
    return subprocess.run([sys.executable, str(_JARS)], check=False).returncode


def _installed(missing: list[str]) -> bool:
    wanted = " ".join(missing)
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        sys.stderr.write(f"The integration tests need these packages: {wanted}. As root: apt-get install {wanted}\n")
        return False
    with _nothing_started():
        quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
        subprocess.run(["apt-get", "update", "-q"], check=True, **quiet)
        subprocess.run(["apt-get", "install", "-q", "-y", "--no-install-recommends", *missing], check=True, **quiet)
    return True


@contextmanager
def _nothing_started() -> Iterator[None]:
    """Debian asks this file whether a package may start its service; 101 is no."""
    if _POLICY.exists():
        yield
        return
    _POLICY.write_text("#!/bin/sh\nexit 101\n")
    _POLICY.chmod(0o755)
    try:
        yield
    finally:
        _POLICY.unlink()


if __name__ == "__main__":
    sys.exit(main())
