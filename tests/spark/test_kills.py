"""Killed at any moment and started again, a query ends with the table of one that was never killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.dataset as ds
import pytest

pytestmark = pytest.mark.slow

SURVIVOR = Path(__file__).with_name("survivor.py")
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
KILLS = {"totals": 20 if LONG else 2, "graph": 10 if LONG else 2, "join": 10 if LONG else 2}
"""Of each query, many in `make thorough`; a kill and the start after it take half a minute."""
PATIENCE = 600
"""Seconds after which a query that should end is taken to hang."""
TABLES = {
    "totals": "SELECT * FROM totals",
    "dead letters": "SELECT reason, record, detail FROM totals_dead_letters",
    "accounting": (
        "SELECT stage, SUM(received), SUM(accepted), SUM(duplicates), SUM(dead_letters), SUM(filtered), "
        "COUNT(DISTINCT batch) FROM totals_accounting WHERE received > 0 GROUP BY stage"
    ),
}

Tables = dict[str, list[Any]]


class Unharmed(NamedTuple):
    """A query, and what a run without kills ends with."""

    query: str
    tables: Tables


@pytest.fixture(scope="module", params=list(KILLS))
def unharmed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Unharmed:
    folder = tmp_path_factory.mktemp("unharmed")
    with running(request.param, folder) as process:
        assert process.wait(PATIENCE) == 0
    tables = read(folder)
    assert len(tables["totals"]) > {"totals": 50, "graph": 4, "join": 100}[request.param]
    assert tables["dead letters"]
    assert len(tables["accounting"]) == {"totals": 1, "graph": 3, "join": 1}[request.param]
    return Unharmed(request.param, tables)


one_stage = pytest.mark.parametrize("unharmed", ["totals"], indirect=True)


def test_a_driver_killed_again_and_again(unharmed: Unharmed, tmp_path: Path) -> None:
    moments = np.random.default_rng(7)
    kills = 0
    while kills < KILLS[unharmed.query]:
        with running(unharmed.query, tmp_path) as process:
            goal = committed(tmp_path) + moments.integers(3)
            until(lambda: committed(tmp_path) >= goal and started(tmp_path), process)  # noqa: B023 -- called at once
            time.sleep(moments.uniform(0, 1))
            assert process.poll() is None, "all is read before the last kill: give the query more batches"
            os.killpg(process.pid, signal.SIGKILL)
            kills += 1
    with running(unharmed.query, tmp_path) as process:
        assert process.wait(PATIENCE) == 0
    assert read(tmp_path) == unharmed.tables


@one_stage
def test_a_python_worker_killed(unharmed: Unharmed, tmp_path: Path) -> None:
    """The task is tried again, where the master allows it; here up to four times."""
    with running(unharmed.query, tmp_path, "local[2,4]") as process:
        until(lambda: committed(tmp_path) >= 2, process)
        for worker in below(process.pid, "pyspark.daemon"):
            if below(worker, "pyspark.daemon"):
                continue  # the daemon itself; its children are the workers
            os.kill(worker, signal.SIGKILL)
        assert process.wait(PATIENCE) == 0
    assert read(tmp_path) == unharmed.tables


@one_stage
def test_an_executor_killed(unharmed: Unharmed, tmp_path: Path) -> None:
    with running(unharmed.query, tmp_path, "local-cluster[2,1,1024]") as process:
        until(lambda: committed(tmp_path) >= 2, process)
        executors = below(process.pid, "CoarseGrainedExecutorBackend")
        assert len(executors) == 2
        os.kill(executors[0], signal.SIGKILL)
        assert process.wait(PATIENCE) == 0
    assert read(tmp_path) == unharmed.tables


@contextmanager
def running(query: str, folder: Path, master: str = "local[2]") -> Iterator[subprocess.Popen[bytes]]:
    """The query in a session of its own, so that all its processes can be killed at once; none is left behind."""
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, SURVIVOR, query, folder, master], stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until(reached: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    """Wait until `reached`, while the process runs."""
    deadline = time.monotonic() + PATIENCE
    while not reached():
        assert process.poll() is None, "the query ended by itself; its log says why"
        assert time.monotonic() < deadline, "the query hangs"
        time.sleep(0.02)


def committed(folder: Path) -> int:
    """How many batches the table has."""
    return int(ask(folder, "SELECT COUNT(DISTINCT batch) FROM totals_accounting", [(0,)])[0][0])


def started(folder: Path) -> bool:
    """Whether the query has begun its next batch: its offsets are written before anything else."""
    return (folder / "checkpoint" / "offsets").exists()


def read(folder: Path) -> Tables:
    found = {name: sorted(ask(folder, question, []), key=repr) for name, question in TABLES.items()}
    if (folder / "letters").exists():
        letters = ds.dataset(folder / "letters").to_table(["reason", "record", "detail"])
        found["dead letters"] = sorted(letters.to_pylist(), key=repr)
    return found


def ask(folder: Path, question: str, otherwise: list[Any]) -> list[Any]:
    if not (folder / "totals.db").exists():
        return otherwise
    with closing(sqlite3.connect(folder / "totals.db", timeout=30)) as connection:
        try:
            return connection.execute(question).fetchall()
        except sqlite3.OperationalError:
            return otherwise


def below(pid: int, name: str) -> list[int]:
    """The processes under `pid` whose command line names `name`."""
    found: list[int] = []
    children = [
        int(child) for task in Path(f"/proc/{pid}/task").glob("*/children") for child in task.read_text().split()
    ]
    for child in children:
        try:
            command = Path(f"/proc/{child}/cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        found += [child] if name in command else []
        found += below(child, name)
    return found
