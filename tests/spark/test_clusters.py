"""The same rows on a cluster and over Spark Connect, with workers that have Fanlight only because it was sent to them.

Each session is a process of its own: a process has one kind of session, and the other tests have the plain one.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark import cloudpickle

import fanlight as fl
from fanlight.spark.output import COUNTS, FIRING
from fanlight.spark.pack import rows_of
from fanlight.spark.shipping import archive, bring_along, portable_function

from . import elsewhere

pytestmark = pytest.mark.slow

BASE = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "v": pa.int64()})
PROGRAM = Path(elsewhere.__file__)
SITE = Path(pa.__file__).parent.parent


def bundle(*records: tuple[int, str | None, int]) -> pa.Table:
    """Records as (second, key, value)."""
    rows = [{"ts": BASE + timedelta(seconds=second), "k": key, "v": value} for second, key, value in records]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


BUNDLES = [
    bundle((1, "a", 1), (4, "b", 2), (9, "a", 3), (11, None, 4), (3, "a", 5)),
    bundle((25, "a", 6), (8, "b", 7), (14, "c", 8), (26, None, 9)),
    bundle((2, "a", 10), (31, "b", 11), (17, "a", 12), (44, "c", 13)),
]


def bare() -> dict[str, str]:
    """An environment whose workers have every package of this one except Fanlight.

    Python reads the `.pth` file of an editable install only where it looks for packages by itself, not on PYTHONPATH.
    """
    own = Path(sys.base_prefix, "bin", Path(sys.executable).name)
    return {**os.environ, "PYSPARK_PYTHON": str(own if own.exists() else sys.executable), "PYTHONPATH": str(SITE)}


def spark_home(folder: Path) -> Path:
    """The Spark that is installed, in a place where the workers of a local cluster may leave their files."""
    folder.mkdir()
    for part in Path(pyspark.__file__).parent.iterdir():
        (folder / part.name).symlink_to(part)
    (folder / "work").unlink(missing_ok=True)
    return folder


def stepped(bundles: list[pa.Table]) -> fl.WindowOperator:
    """The embedded engine over the same bundles."""
    operator = fl.WindowOperator(elsewhere.declared([]).spec, schema=SCHEMA)
    for table in bundles:
        operator.add(table)
    return operator


def test_a_bare_worker_has_no_fanlight() -> None:
    """Otherwise the tests after this one show nothing."""
    environment = bare()
    python = [environment["PYSPARK_PYTHON"], "-c"]
    subprocess.run([*python, "import pyarrow, pandas, pyspark"], env=environment, check=True)
    told = subprocess.run([*python, "import fanlight"], env=environment, capture_output=True, text=True, check=False)
    assert "No module named 'fanlight'" in told.stderr


def opened_elsewhere(function: Any, folder: Path) -> str:
    """What a bare Python says when it is sent a function and calls it with no batches: its result, and whether the
    collector passes over what was imported for it.
    """
    (folder / "sent").write_bytes(cloudpickle.dumps(function))  # type: ignore[no-untyped-call]
    program = (
        "import gc, sys; from pyspark import cloudpickle; "
        "print(list(cloudpickle.loads(open(sys.argv[1], 'rb').read())(iter([]))), gc.get_freeze_count() > 10_000)"
    )
    environment = bare()
    python = [environment["PYSPARK_PYTHON"], "-c", program, str(folder / "sent")]
    told = subprocess.run(python, env=environment, capture_output=True, text=True, check=False)
    return told.stdout + told.stderr


def test_what_is_sent_says_that_the_package_is_missing_or_brings_it(
    tmp_path: Path,
) -> None:
    told = opened_elsewhere(portable_function(rows_of(FIRING)), tmp_path)
    assert "has no Fanlight. Call fanlight.spark.shipping.ship(spark) once, before pipelines are declared" in told
    assert "During handling of the above" not in told  # one message, not a tale of several
    bring_along(archive())  # as ship(spark) does
    try:
        assert opened_elsewhere(portable_function(rows_of(FIRING)), tmp_path) == "[] True\n"
        sent = len(cloudpickle.dumps(portable_function(rows_of(FIRING))))  # type: ignore[no-untyped-call]
        assert sent < 900_000, "Spark broadcasts a megabyte, and a stateful processor is opened where there are none"
    finally:
        bring_along(None)


CLUSTER = "local-cluster[2,1,1024]"


def submitted(spark: Path, folder: Path) -> list[str]:
    """The way to start a program with the package as a file beside it: the driver has no other Fanlight either."""
    (folder / "fanlight.zip").write_bytes(archive())
    return [str(spark / "bin" / "spark-submit"), "--master", CLUSTER, "--py-files", str(folder / "fanlight.zip")]


@pytest.mark.usefixtures("connect_port")
@pytest.mark.filterwarnings("ignore:.*all records came as one bundle")  # which is what is compared
@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ({"master": CLUSTER}, "pyspark.sql.session"),
        ({"remote": "local[2]"}, "pyspark.sql.connect.session"),
        ({"master": None}, "pyspark.sql.session"),
    ],
    ids=["cluster", "connect", "submitted"],
)
def test_a_cluster_gives_the_rows_of_the_embedded_engine(how: dict[str, str | None], kind: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, table in enumerate(BUNDLES):
        file = tmp_path / "in" / f"{number}.parquet"
        pq.write_table(table, file)
        os.utime(file, (1_700_000_000 + number,) * 2)
    home, is_submitted = spark_home(tmp_path / "spark"), how == {"master": None}
    starts = submitted(home, tmp_path) if is_submitted else [sys.executable]
    program = [*starts, str(PROGRAM), str(tmp_path), json.dumps(how)]
    environment = {**bare(), "SPARK_HOME": str(home)}
    ran = subprocess.run(program, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    told = json.loads(ran.stdout.splitlines()[-1])
    assert told["kind"] == kind
    assert len(told["before"]) == (0 if is_submitted else 2)
    for problem in told["before"]:
        assert "has no Fanlight. Call fanlight.spark.shipping.ship(spark) once" in problem
        assert 'File "' not in problem  # the message alone, not behind a trace of the worker
    assert ".zip" in told["imported"]
    whole, streamed = elsewhere.declared(pa.concat_tables(BUNDLES)), stepped(BUNDLES)
    assert told["batch"] == elsewhere.listed(whole.table().to_pylist())
    totals = {name: sum(batch.get(name, 0) for batch in told["counts"]) for name in COUNTS}
    assert totals == {name: count for name, count in streamed.accounting.as_dict().items() if name in COUNTS}
    assert totals["received"] == sum(len(table) for table in BUNDLES)
    assert told["stream"] == elsewhere.listed(streamed.take().to_pylist())
    assert told["windows"] == elsewhere.listed(streamed.windows().to_pylist())


def test_the_package_is_sent_whole_and_the_same_code_is_the_same_bytes() -> None:
    package = Path(fl.__file__).parent
    with zipfile.ZipFile(io.BytesIO(archive())) as sent:
        names = set(sent.namelist())
    assert names == {path.relative_to(package.parent).as_posix() for path in package.rglob("*.py")}
    assert archive() == archive()
