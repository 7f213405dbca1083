"""The machine a figure was measured on: one core of it and nothing else, or all of it."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process, and every library in it, on one core. Enter it before anything starts a thread."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    every = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if every:
        os.sched_setaffinity(0, {max(every)})
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    try:
        yield
    finally:
        if every:
            os.sched_setaffinity(0, every)


def described(*libraries: str, share: str = "one core of") -> str:
    """The processor, and the versions of Python and of the libraries a figure depends on.

    >>> described("pyarrow").startswith("one core of")
    True
    """
    versions = [f"{name} {version(name)}" for name in ("numpy", "pyarrow", *libraries)]
    return ", ".join([f"{share} {_processor()}", f"Python {platform.python_version()}", *versions])


def _processor() -> str:
    cores = os.cpu_count()
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{cores} × {models[0] if models else platform.machine()}"
