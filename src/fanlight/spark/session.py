"""The settings that a stateful query needs in its Spark session, with reasons; and a session that has them.

For a session made elsewhere (a notebook's, a cluster's), `missing_settings` lists what is missing and `configure` sets
it.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fanlight.errors import EngineError
from fanlight.spark.java import require_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STATE = "spark.sql.streaming.stateStore"
PROVIDER = f"{_STATE}.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a session: its value, and why."""

    name: str
    value: str
    why: str
    is_least: bool = False
    """Whether greater values are fine too."""
    is_choice: bool = False
    """Whether any other value is fine too."""
    at_start: bool = False
    """Whether it can only be set before a session starts."""

    def fits(self, found: str | None) -> bool:
        """Whether the value `found` in a session is fine."""
        if found is None or self.is_choice:
            return found is not None
        if self.is_least and found.lstrip("-").isdigit():
            return int(found) <= 0 or int(found) >= int(self.value)  # for Spark, 0 means no limit
        return found.lower() == self.value.lower()


SETTINGS = (
    Setting(
        PROVIDER,
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
        "State lives in RocksDB, outside of the Java heap; Spark keeps the state of a processor nowhere else.",
    ),
    Setting(
        f"{_STATE}.rocksdb.changelogCheckpointing.enabled",
        "true",
        "A batch writes its changes to the checkpoint, not the files of a whole snapshot.",
    ),
    Setting(
        f"{_STATE}.checkpointFormatVersion",
        "2",
        "Every attempt at a batch writes files of its own, so one that is repeated never reads what a broken one left.",
    ),
    Setting(
        "spark.sql.streaming.checkpoint.fileChecksum.enabled",
        "true",
        "A damaged state file is refused; it would be loaded in silence. Takes effect with format version 2.",
    ),
    Setting(
        f"{_STATE}.rocksdb.boundedMemoryUsage",
        "true",
        "All stores of an executor share one bound on memory; each would have its own, however many there are.",
    ),
    Setting(f"{_STATE}.rocksdb.maxMemoryUsageMB", "512", "That bound.", is_choice=True),
    Setting(
        "spark.sql.session.timeZone",
        "UTC",
        "Text is read as times, and times are shown, in UTC as windows are; results are the same in every zone.",
        is_choice=True,
    ),
    Setting(
        "spark.sql.execution.arrow.maxRecordsPerBatch",
        "65536",
        "Rows come to Python many at a time, and not more than a core has at hand: of a million, a batch is slower.",
        is_least=True,
    ),
    Setting(
        "spark.sql.execution.arrow.maxBytesPerBatch",
        "2147483647",
        "Batches are bounded by their rows. A bound in bytes makes Spark weigh the batch again with every row it adds.",
        is_least=True,
    ),
    Setting(
        "spark.sql.parquet.outputTimestampType",
        "TIMESTAMP_MICROS",
        "Timestamps in parquet files are whole numbers; Spark's own choice, INT96, is deprecated and slow to write.",
        is_choice=True,
    ),
    Setting(
        "spark.sql.codegen.useIdInClassName",
        "false",
        "What Spark compiles for one input it runs for others, too; it would compile the same code for each.",
        is_choice=True,
    ),
    Setting(
        "spark.python.unix.domain.socket.enabled",
        "true",
        "Java and Python talk over a socket of the file system, which is a little faster than one of the network.",
        at_start=True,
    ),
)

LOCAL_CHECKPOINTS = Setting(
    "spark.sql.streaming.checkpointFileManagerClass",
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    "A checkpoint is written with some twenty processes a batch, not ninety; only for checkpoints on a local disk.",
)
"""What `local_checkpoints` sets besides."""


def spark_session(
    master: str | None = "local[2]",
    *,
    partitions: int = 2,
    local_checkpoints: bool = False,
    remote: str | None = None,
    settings: Mapping[str, str] | None = None,
    **more: str,
) -> SparkSession:
    """A session with all `SETTINGS`, on this machine or on `master`.

    `settings` are further ones by their names, as in `settings={"spark.executorEnv.AWS_REGION": "eu-west-1"}`; those
    whose names have no underscore may be said with `_` for `.`, as in `spark_ui_enabled="false"`.

    `remote` makes it a Spark Connect session, as in `remote="local[2]"` or `remote="sc://host"`. Where `spark-submit`
    names the master, say `master=None`. `partitions` is how many tasks hold state; a checkpoint keeps the number it
    began with. With `local_checkpoints` batches are faster, and all checkpoints must be on a disk of this machine.
    """
    starts = remote is None or remote.startswith("local")
    if starts:
        require_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    wanted = {setting.name: setting.value for setting in SETTINGS if starts or not setting.at_start}
    wanted[PARTITIONS] = str(partitions)
    if local_checkpoints:
        wanted[LOCAL_CHECKPOINTS.name] = LOCAL_CHECKPOINTS.value
    wanted.update({name.replace("_", "."): value for name, value in more.items()})
    wanted.update(settings or {})
    builder = SparkSession.builder
    if remote is not None:
        builder = builder.remote(remote)
    elif master is not None:
        builder = builder.master(master)
    for name, value in wanted.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        if remote is not None and starts:
            # the server has them from its start, and a session refuses to set them again
            warnings.filterwarnings("ignore", message="Failed to set", category=UserWarning)
        return builder.getOrCreate()


def explain_settings() -> str:
    """Each setting, its value and its reason, as text.

    >>> print(explain_settings())  # doctest: +ELLIPSIS
    spark.sql.streaming.stateStore.providerClass = ...RocksDBStateStoreProvider
        State lives in RocksDB...
    """
    return "\n".join(f"{setting.name} = {setting.value}\n    {setting.why}" for setting in SETTINGS)


def missing_settings(spark: SparkSession) -> dict[str, str]:
    """The settings that a session lacks, by name, each with the value it should have."""
    return {setting.name: setting.value for setting in SETTINGS if not setting.fits(_found(spark, setting.name))}


def configure(spark: SparkSession) -> dict[str, str]:
    """Set what a session made elsewhere lacks, for all its queries; returns what was set.

    Settings that only a new session can take are not changed: `missing_settings` still lists them.
    """
    late = {setting.name for setting in SETTINGS if setting.at_start}
    changed = {name: value for name, value in missing_settings(spark).items() if name not in late}
    for name, value in changed.items():
        spark.conf.set(name, value)
    return changed


def require_settings(spark: SparkSession) -> None:
    """Refuse a session that cannot run a stateful query, before a query starts and fails in its first batch."""
    found = _found(spark, PROVIDER)
    (provider,) = (setting for setting in SETTINGS if setting.name == PROVIDER)
    if not provider.fits(found):
        raise EngineError(
            f"This session keeps state with {PROVIDER} = {found}, and Spark runs a stateful processor on RocksDB only. "
            "Make the session with fanlight.spark.session.spark_session(), or call "
            f"fanlight.spark.session.configure(spark), or set {PROVIDER} = {provider.value} before the query starts."
        )


def _found(spark: SparkSession, name: str) -> str | None:
    return spark.conf.get(name, None)
