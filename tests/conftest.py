"""How hard the properties try, which files start first, and how the Java of a test compiles.

`HYPOTHESIS_PROFILE=thorough` for many more examples, `quick` for fewer.
"""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

# `quick` and `short` draw the same examples on every machine, so that a red run is red everywhere.
settings.register_profile("quick", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("short", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))

# A Java that lives for a few minutes spends half of its processor time compiling what it will hardly run again: the
# first compiler alone, and the collector with one thread. Set where no session has started yet; programs inherit it.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, so that workers which take file after file end together: those of Spark, the other slow ones.

    Files stay together, and each in its own order.
    """
    ranks: defaultdict[Path, int] = defaultdict(int)
    for item in items:
        if item.get_closest_marker("slow"):
            ranks[item.path] = max(ranks[item.path], 2 if "spark" in item.path.parts else 1)
    items.sort(key=lambda item: -ranks[item.path])


def pytest_collection_finish() -> None:
    """Ten thousand tests stay until the end: the collector is told not to look at them in every one of its rounds."""
    gc.freeze()


def pytest_sessionfinish() -> None:
    """At the end nothing is kept from it: a library that counts what it has made would find some of it left."""
    gc.unfreeze()
