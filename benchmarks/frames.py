"""Which frames of the package Python enters for a small piece of work: what one reads to follow a record.

The work is done once before, so that only what every later one does is counted. Run as a program, the figures are
printed as JSON: of the package that `PYTHONPATH` leads to, which may be an older one.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

import fanlight as fl

PACKAGE = Path(fl.__file__).parent
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "key": pa.string(), "value": pa.float64()})
MINUTE = 60_000_000
NOT_SPARK = "spark/tester.py"
"""It stands where Spark is; on Spark it does not run."""


def frames_to_take_in() -> list[str]:
    """The functions from `add` of a standalone tumbling pipeline to the operator's `take_in`, both included."""
    return _of_closing_add()[0]


def files_of_add() -> list[str]:
    """The files with a frame in one `add` that closes a window."""
    return _of_closing_add()[1]


def files_of_micro_batch() -> list[str]:
    """The files with a frame in one micro-batch of a shard on Spark that closes a window; no session is needed."""
    from fanlight.spark.tester import ShardTester

    def micro_batch() -> Callable[[], object]:
        shard = ShardTester(_pipeline().spec, SCHEMA)
        shard.batch([_orders(10, 20)], watermark=0, clock=0)
        return lambda: shard.batch([_orders(70)], watermark=MINUTE, clock=0)

    _, files = _watched(micro_batch)
    return [file for file in files if file != NOT_SPARK]


def _of_closing_add() -> tuple[list[str], list[str]]:
    def add() -> Callable[[], object]:
        operator = _pipeline().operator()
        operator.add(_orders(10, 20))
        return lambda: operator.add(_orders(70))

    return _watched(add)


def _pipeline() -> fl.Result:
    minutes = fl.stream([], time="ts").key_by("key").window(fl.tumbling("1 minute"))
    return minutes.agg(n=fl.count(), total=fl.sum("value"))


def _orders(*seconds: int) -> pa.RecordBatch:
    columns = {"ts": [second * 1_000_000 for second in seconds], "key": ["a"] * len(seconds)}
    return pa.record_batch({**columns, "value": [1.0] * len(seconds)}, schema=SCHEMA)


def _watched(prepare: Callable[[], Callable[[], object]]) -> tuple[list[str], list[str]]:
    """The package's functions on the way to the first `take_in`, outermost first; and all files that were entered."""
    prepare()()
    work = prepare()
    way: list[str] = []
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (file := _file(frame.f_code.co_filename)):
            files.add(file)
            if frame.f_code.co_name == "take_in" and not way:
                way.extend(_way_to(frame))

    with _profiled(note):
        work()
    return way, sorted(files)


@contextmanager
def _profiled(note: Callable[[FrameType, str, Any], None]) -> Iterator[None]:
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)


@cache
def _file(name: str) -> str:
    """A file as it is called in the package; nothing if it is of another."""
    return os.path.relpath(name, PACKAGE) if name.startswith(f"{PACKAGE}{os.sep}") else ""


def _way_to(frame: FrameType) -> list[str]:
    way: list[str] = []
    outer: FrameType | None = frame
    while outer is not None:
        if _file(outer.f_code.co_filename):
            way.append(outer.f_code.co_qualname)
        outer = outer.f_back
    return way[::-1]


if __name__ == "__main__":
    print(json.dumps([frames_to_take_in(), files_of_add(), files_of_micro_batch()]))
