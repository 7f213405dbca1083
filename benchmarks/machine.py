"""The machine a figure was measured on: one core of it, and nothing else."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa


def one_core() -> None:
    """Keep this process, and every library in it, on one core. Call it before anything starts a thread."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)


def described(*libraries: str) -> str:
    """The processor, and the versions of Python and of the libraries a figure depends on.

    >>> described("pyarrow").startswith("one core of")
    True
    """
    versions = [f"{name} {version(name)}" for name in ("numpy", "pyarrow", *libraries)]
    return ", ".join([f"one core of {_processor()}", f"Python {platform.python_version()}", *versions])


def _processor() -> str:
    cores = os.cpu_count()
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{cores} × {models[0] if models else platform.machine()}"
