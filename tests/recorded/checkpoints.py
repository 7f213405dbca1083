"""Checkpoints of queries that were stopped in the middle, and what the rest of the input gives from there.

A query reads Spark's `rate-micro-batch`, whose offsets are plain numbers, and writes JSON lines: rows, dead letters and
accounts. Checkpoint and lines are packed together, because a file of lines knows which batches it has. In a checkpoint
Spark notes where it is; that is rewritten when one is packed and when it is unpacked.

    recorded here      ▕ batch 0 ▕ batch 1 ▕ batch 2 ▕  packed
    gone on from                             unpacked ▕ batch 3 ▕ batch 4 ▕ the end ▕
"""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fanlight as fl
from fanlight.spark.session import spark_session

from .canonical import RENAMED, plain_json
from .tape import Line, digest

FOLDER = Path(__file__).parent / "checkpoints"
BEFORE, AFTER = 3, 2
"""How many batches there are before the stop, and how many after it."""
RECORDS = 30
LIMIT = 240
"""Seconds in which a batch has come to its end."""

ROWS, LETTERS, ACCOUNTS = "rows.jsonl", "letters.jsonl", "accounts.jsonl"
COUNTS = ("received", "accepted", "duplicates", "dead_letters", "missed_windows", "values_out_of_range")
LATER_COUNTS = ("filtered", "dropped")
"""Counts that came after the recordings: a line has one only where it is not zero."""

_CHECKPOINT = "checkpoint"
_HERE = b"file:/the/checkpoint/is/here"
"""Stands in a packed checkpoint for where it is."""
_LEFT_OUT = ("lock",)
"""What a running query holds."""


def orders(spark: Any) -> Any:
    """Ten seconds a batch, out of order by up to eight; one in eleven is late by half a minute."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", RECORDS).option("numPartitions", 1)
    second = f"(value div {RECORDS}) * 10 + pmod(value * 7, 17) - 8 - if(pmod(value, 11) = 10, 30, 0)"
    return source.load().selectExpr(
        f"timestamp_seconds(1767225600 + {second}) AS ts",
        "substr('abc', 1 + CAST(pmod(value * 5, 3) AS INT), 1) AS k",
        "if(pmod(value, 13) = 4, NULL, pmod(value * 5, 19) - 6) AS v",
    )


def tumbling(source: Any) -> fl.Result:
    """Windows that stay correctable after they have fired: their slices are kept."""
    windowed = fl.stream(source, time="ts", delay="5 s").key_by("k").window(fl.tumbling("10 s"), lateness="18 s")
    return windowed.agg(n=fl.count(), total=fl.sum("v"), mean=fl.avg("v"), all=fl.list("v"))


def sessions(source: Any) -> fl.Result:
    """Sessions that fire early and take back what they fired: their panes are kept."""
    windowed = fl.stream(source, time="ts", delay="5 s").key_by("k").window(fl.session("1500 ms"), lateness="1 minute")
    eager = windowed.trigger(fl.at_watermark(early=fl.after(2), late=fl.after(1))).retracting()
    return eager.agg(n=fl.count(), total=fl.sum("v"), last=fl.last("v"))


QUERIES: dict[str, Callable[[Any], fl.Result]] = {"tumbling": tumbling, "sessions": sessions}


def keep(spark: Any, name: str, folder: Path) -> None:
    """Run a query up to the stop, and pack its checkpoint and what it has written, for commits to come."""
    for _ in range(BEFORE):
        _one_batch(spark, name, folder)
    _pack(folder, FOLDER / f"{name}.tar.xz")


def gone_on(spark: Any, name: str, folder: Path) -> dict[str, list[str]]:
    """All lines of all batches, of a query that goes on from what is packed to the end of its input."""
    _unpack(FOLDER / f"{name}.tar.xz", folder)
    for number in range(AFTER):
        _one_batch(spark, name, folder, flush=number == AFTER - 1)
    return {file: [*_lines(folder / file)] for file in (ROWS, LETTERS, ACCOUNTS)}


def _lines(file: Path) -> Iterator[str]:
    """The lines as they were then: without what the clock on the wall said when a pane fired, without later counts of
    zero, and with the old names.
    """
    for text in file.read_text(encoding="utf-8").splitlines():
        said = json.loads(text)
        said.get("pane", {}).pop("clock", None)
        if "pane" in said:  # batches from before have the old names, later ones those of now
            said["pane"] = {RENAMED.get(name, name): value for name, value in said["pane"].items()}
        for count in LATER_COUNTS:
            if said.get(count) == 0:
                del said[count]
        yield plain_json(said)


def line(written: dict[str, list[str]]) -> Line:
    """What a recording keeps of the lines."""
    accounts = [json.loads(account) for account in written[ACCOUNTS]]
    totals = {count: sum(account[count] for account in accounts) for count in COUNTS}
    return {
        "digest": digest(text.encode() for lines in written.values() for text in lines),
        "rows": len(written[ROWS]),
        "letters": len(written[LETTERS]),
        "accounts": {count: total for count, total in totals.items() if total},
    }


def shown(written: dict[str, list[str]]) -> Iterator[str]:
    """All lines, to be laid beside those of another commit."""
    return (f"{file} {text}" for file, lines in written.items() for text in lines)


def keep_all() -> None:
    """Pack every checkpoint."""
    FOLDER.mkdir(exist_ok=True)
    for name in QUERIES:
        with TemporaryDirectory() as folder:
            keep(session(), name, Path(folder))


def alone(name: str) -> dict[str, list[str]]:
    """`gone_on`, outside of a test."""
    with TemporaryDirectory() as folder:
        return gone_on(session(), name, Path(folder))


@cache
def session() -> Any:
    """A session like the one that tests of Spark share."""
    return spark_session(
        spark_driver_bindAddress="127.0.0.1",
        spark_driver_host="127.0.0.1",
        spark_ui_enabled="false",
    )


def _one_batch(spark: Any, name: str, folder: Path, *, flush: bool = False) -> None:
    query: Any = QUERIES[name](orders(spark)).write_to(
        str(folder / ROWS),
        dead_letters=str(folder / LETTERS),
        accounting=str(folder / ACCOUNTS),
        checkpoint=str(folder / _CHECKPOINT),
        available_now=True,
        flush=flush,
    )
    assert query.awaitTermination(LIMIT), f"{name}: a batch did not end"


def _pack(folder: Path, packed: Path) -> None:
    place = f"file:{folder / _CHECKPOINT}".encode()
    with tarfile.open(packed, "w:xz") as tar:
        for file in sorted(folder.rglob("*")):
            if file.is_file() and file.name not in _LEFT_OUT and not _is_rewritten_checksum(file):
                data = file.read_bytes().replace(place, _HERE)
                told = tarfile.TarInfo(file.relative_to(folder).as_posix())
                told.size = len(data)
                tar.addfile(told, io.BytesIO(data))


def _unpack(packed: Path, folder: Path) -> None:
    with tarfile.open(packed) as tar:
        tar.extractall(folder, filter="data")
    for file in _with_a_place(folder):
        file.write_bytes(file.read_bytes().replace(_HERE, f"file:{folder / _CHECKPOINT}".encode()))


def _with_a_place(folder: Path) -> Iterator[Path]:
    return (file for file in folder.rglob("_metadata/**/*") if file.is_file())


def _is_rewritten_checksum(file: Path) -> bool:
    """Whether this is Hadoop's checksum of a file that says where the checkpoint is; without one nothing is checked."""
    return "_metadata" in file.parts and file.suffix == ".crc"
