"""Every kind of file of a checkpoint, damaged in every way, and the query started again.

Either the query is refused, or it ends with the table of one that was never harmed. What else Spark makes of its own
files is in `SPARKS_OWN`, and named in docs/reliability.md.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.spark.write import write

from .sinks.faults import FAULTS
from .sinks.orders import BUNDLES, corrected, put, streamed
from .test_write import DEAD, RECORDS, asked, expected_table, letters_in, table_in

pytestmark = pytest.mark.slow

IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
BEFORE = len(BUNDLES) - 1
"""So many bundles are read before the damage, the last after it."""

SPARKS_OWN = {
    ("sources/N/N", "flip"): "a file whose name is damaged here is a new one to the source, and read a second time",
    ("offsets/N", "flip"): "what a bit does depends on where it is: an offset, a time, a setting",
    ("commits/N", "flip"): "the same",
}
"""What Spark may make of damage to its own logs without a word, for it looks at no checksum of theirs."""


@pytest.mark.parametrize("state", ["changes", "snapshots"])
def test_no_damage_to_a_checkpoint_makes_a_silent_difference(spark: SparkSession, state: str, tmp_path: Path) -> None:
    """One bit of each kind, and in `make thorough` every fault, also of the checksums that Hadoop keeps hidden.

    State goes to the checkpoint as the changes of each batch, which is as it is set, or as whole snapshots.
    """
    source, begun = tmp_path / "in", tmp_path / "begun"
    outcomes: dict[tuple[str, str], str] = {}
    with one_shard(spark, keeps_changes=state == "changes"):
        put(source, BUNDLES[:BEFORE])
        begun.mkdir()
        run(spark, source, begun)
        put(source, BUNDLES[BEFORE:], start=BEFORE)
        for kind, path in newest_of_each_kind(begun / "checkpoint").items():
            if (state == "snapshots" and ".zip" not in kind) or (not IS_THOROUGH and "/." in f"/{kind}"):
                continue
            for fault in FAULTS if IS_THOROUGH else ["flip"]:
                harmed = tmp_path / f"harmed{len(outcomes)}"
                shutil.copytree(begun, harmed)
                FAULTS[fault](harmed / "checkpoint" / path)
                outcomes[kind, fault] = outcome(spark, source, harmed)
    assert "refused" in outcomes.values()
    assert {case for case, said in outcomes.items() if said == "differs"} <= SPARKS_OWN.keys()


@contextmanager
def one_shard(spark: SparkSession, *, keeps_changes: bool) -> Iterator[None]:
    settings = {
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": str(keeps_changes).lower(),
    }
    before = {name: spark.conf.get(name) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, old)


def newest_of_each_kind(checkpoint: Path) -> dict[str, str]:
    """The file of each kind that a restart reads: the one with the greatest number."""
    paths = [str(file.relative_to(checkpoint)) for file in checkpoint.rglob("*") if file.is_file() and nonempty(file)]
    paths.sort(key=lambda path: [int(number) for number in re.findall(r"\d+", Path(path).name.partition("_")[0])])
    return {kind_of(path): path for path in paths}


def nonempty(file: Path) -> bool:
    return file.stat().st_size > 0


def kind_of(path: str) -> str:
    """The kind of a file by its path in the checkpoint: numbers and ids left out."""
    path = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", path)
    return re.sub(r"\d+", "N", path)


def run(spark: SparkSession, source: Path, folder: Path) -> None:
    query = write(
        streamed(spark, source, corrected).on_spark("test"),
        f"sqlite:///{folder}/t.db",
        table="totals",
        checkpoint=str(folder / "checkpoint"),
        available_now=True,
    )
    assert query is not None
    query.awaitTermination(240)
    assert not query.isActive


def outcome(spark: SparkSession, source: Path, folder: Path) -> str:
    """What comes of a query over a damaged checkpoint: all is compared, rows, dead letters and accounting."""
    try:
        run(spark, source, folder)
    except (PySparkException, Py4JError, fl.FanlightError):
        return "refused"
    file = folder / "t.db"
    received = asked(file, "SELECT SUM(received) FROM totals_accounting")
    same = table_in(file) == expected_table() and len(letters_in(file)) == len(DEAD) and received == [(RECORDS,)]
    return "same" if same else "differs"
