"""The Python that Spark starts its workers with: is it this one, or one that has what a pipeline needs?

Without `PYSPARK_PYTHON` Spark starts the `python3` of the path. In a virtual environment that is not activated that is
another Python, and a query would fail in its first batch, deep in Spark.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from fanlight.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEEDED = ("google.protobuf", "numpy", "pandas", "pyarrow")
"""What a worker imports that Spark does not bring along."""

_PROBE = """
import sys
from importlib.util import find_spec

def lacks(name):
    try:
        return find_spec(name) is None
    except ModuleNotFoundError:
        return True

print("%d.%d" % sys.version_info[:2], *filter(lacks, sys.argv[1:]))
"""
"""Looks for modules without importing them; any Python 3 can run it."""

_SECONDS = 60
_REMEDY = (
    'Write os.environ["PYSPARK_PYTHON"] = sys.executable before the session starts (stop one that runs), '
    "or make the session with fanlight.spark.session.spark_session()."
)


def require_worker_python(session: SparkSession) -> None:
    """Refuse a session of this machine whose workers cannot run a pipeline, when the pipeline is declared.

    The Python of a cluster's machines is not seen from here, nor that of a Spark Connect server: they are not judged.
    """
    if type(session).__module__.startswith("pyspark.sql.connect"):
        return
    context = session.sparkContext
    master = context.master or ""
    if master != "local" and not master.startswith("local["):
        return
    named = context.pythonExec
    found = shutil.which(named)
    if found is None:
        raise EngineError(f"Spark starts its workers with {named!r}, and there is no such program. {_REMEDY}")
    if _is_this(found):
        return
    brought = bool(context.listFiles)  # ship(spark), --py-files: Fanlight may be among them
    lacking = _lacking(found, _NEEDED if brought else (*_NEEDED, "fanlight"))
    if lacking:
        raise EngineError(
            f"Spark starts its workers with {named!r}, which is {found} and {lacking}; this process runs "
            f"{sys.executable}. A pipeline would fail in its first batch. {_REMEDY}"
        )


def _is_this(found: str) -> bool:
    """Whether it is the Python of this process, under whatever name; an environment is known by its folder."""
    there, here = Path(found), Path(sys.executable)
    return there.parent.resolve() == here.parent.resolve() and there.resolve() == here.resolve()


@cache
def _lacking(python: str, modules: tuple[str, ...]) -> str:
    """What another Python lacks to be a worker, as words; empty if nothing."""
    asked = [python, "-c", _PROBE, *modules]
    told = subprocess.run(asked, env=os.environ, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if told.returncode != 0:
        return "does not run"
    version, *missing = told.stdout.split()
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if version != own:
        return f"is Python {version}, not {own}"
    return f"has no {', '.join(missing)}" if missing else ""
