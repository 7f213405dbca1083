"""A session has what a stateful query needs, or says what it lacks before a query starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import fanlight as fl
from fanlight.spark.session import (
    LOCAL_CHECKPOINTS,
    PROVIDER,
    SETTINGS,
    configure,
    explain_settings,
    missing_settings,
    require_settings,
    spark_session,
)

from .jvm import java_session, jvm_of

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ARROW = "spark.sql.execution.arrow.maxRecordsPerBatch"
MEMORY = "spark.sql.streaming.stateStore.rocksdb.maxMemoryUsageMB"
VERSION = "spark.sql.streaming.stateStore.checkpointFormatVersion"


def made_elsewhere(spark: SparkSession) -> SparkSession:
    """A session as Spark makes one by default, for all that this one was given."""
    session = spark.newSession()
    session.conf.set(PROVIDER, HDFS)
    session.conf.set(VERSION, "1")
    session.conf.set(ARROW, "10000")
    return session


def test_a_session_of_ours_lacks_nothing(spark: SparkSession) -> None:
    assert missing_settings(spark) == {}
    require_settings(spark)
    assert spark_session() is spark


def test_settings_are_taken_by_their_names_also_with_underscores(spark: SparkSession) -> None:
    """`_` stands for `.` in keywords only: said so, `access_key` would become `access.key`."""
    settings = {"spark.fanlight.access_key": "of ours", "spark.fanlight.said": "by name"}
    assert spark_session(settings=settings, spark_fanlight_said="by keyword", spark_fanlight_short="too") is spark
    found = {name: spark.conf.get(f"spark.fanlight.{name}") for name in ("access_key", "said", "short")}
    assert found == {"access_key": "of ours", "said": "by name", "short": "too"}


def test_local_checkpoints_are_written_as_asked(spark: SparkSession) -> None:
    assert spark.conf.get(LOCAL_CHECKPOINTS.name, None) is None
    try:
        assert spark_session(local_checkpoints=True) is spark
        assert spark.conf.get(LOCAL_CHECKPOINTS.name) == LOCAL_CHECKPOINTS.value
    finally:
        spark.conf.unset(LOCAL_CHECKPOINTS.name)


def test_sparks_own_classes_read_the_settings(spark: SparkSession) -> None:
    """A name that nobody knows would be set, kept and ignored."""
    jvm = jvm_of(spark)
    state = jvm.org.apache.spark.sql.execution.streaming.state
    none = jvm.org.apache.spark.api.python.PythonUtils.toScalaMap({})
    conf = state.StateStoreConf(java_session(spark).sessionState().conf(), none)
    assert conf.providerClass().endswith("RocksDBStateStoreProvider")
    assert conf.stateStoreCheckpointFormatVersion() == 2
    assert conf.checkpointFileChecksumEnabled()
    rocks = state.RocksDBConf.apply(conf)
    assert rocks.enableChangelogCheckpointing()
    assert rocks.boundedMemoryUsage()
    assert rocks.totalMemoryUsageMB() == 512
    known = java_session(spark).sessionState().conf()
    assert known.arrowMaxRecordsPerBatch() == 65_536
    assert known.sessionLocalTimeZone() == "UTC"
    assert known.parquetOutputTimestampType().toString() == "TIMESTAMP_MICROS"


def test_the_class_that_writes_local_checkpoints_is_there(spark: SparkSession) -> None:
    """The name is internal to Spark: each version that is supported must have it."""
    classes = jvm_of(spark).org.apache.spark.util.Utils
    assert classes.classForName(LOCAL_CHECKPOINTS.value, True, True).getName() == LOCAL_CHECKPOINTS.value


def test_a_session_made_elsewhere_is_told_what_it_lacks_and_given_it(spark: SparkSession) -> None:
    session = made_elsewhere(spark)
    assert missing_settings(session).keys() == {PROVIDER, VERSION, ARROW}
    with pytest.raises(fl.EngineError, match=rf"{PROVIDER} = {HDFS}.*RocksDB only.*configure\(spark\)"):
        require_settings(session)
    assert configure(session).keys() == {PROVIDER, VERSION, ARROW}
    assert missing_settings(session) == {}
    require_settings(session)


def test_what_a_user_chose_is_left_alone(spark: SparkSession) -> None:
    session = made_elsewhere(spark)
    session.conf.set(ARROW, "1000000")
    session.conf.set(MEMORY, "64")
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    assert configure(session).keys() == {PROVIDER, VERSION}
    assert session.conf.get(ARROW) == "1000000"
    assert session.conf.get(MEMORY) == "64"
    session.conf.set(ARROW, "0")  # to Spark: no limit
    assert missing_settings(session) == {}


def test_every_setting_has_its_reason_in_the_docs() -> None:
    told = DOCS.read_text(encoding="utf-8")
    for setting in SETTINGS:
        assert f"`{setting.name}`" in told
        assert setting.why in told
        assert setting.why in explain_settings()
