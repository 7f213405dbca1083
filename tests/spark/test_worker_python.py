"""A session whose workers run another Python: found out when a pipeline is declared, not in its first batch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fanlight.errors import EngineError
from fanlight.spark.worker_python import require_worker_python

from . import unactivated

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has no packages."""
    folder = tmp_path_factory.mktemp("other")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return folder / "bin"


def test_the_environment_is_not_activated_and_the_message_says_the_line_to_write(empty: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    environment["PATH"] = f"{empty}:{environment['PATH']}"
    program = [sys.executable, unactivated.__file__]
    ran = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    *told, rows = ran.stdout.splitlines()
    assert len(told) == 2
    for one in told:
        assert f"workers with 'python3', which is {empty}/python3 and has no google.protobuf, numpy" in one
        assert sys.executable in one
        assert 'os.environ["PYSPARK_PYTHON"] = sys.executable' in one
    assert rows == "[3]"  # after that line


def script(file: Path, text: str) -> str:
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def test_other_pythons(spark: SparkSession, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What PySpark sends to its workers is looked at, wherever it was set."""
    old, broken = script(tmp_path / "old", "echo 3.2"), script(tmp_path / "broken", "exit 3")
    refusals = {
        str(tmp_path / "nowhere"): "there is no such program",
        old: "is Python 3.2, not 3",
        broken: "does not run",
        str(empty / "python3"): "has no google.protobuf, numpy, pandas, pyarrow",
    }
    for python, told in refusals.items():
        monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
        with pytest.raises(EngineError, match=told):
            require_worker_python(spark)


def test_the_own_python_under_another_name_and_one_that_has_everything(
    spark: SparkSession, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Path(sys.executable).with_name("python3")
    fitted = script(empty.parent / "fitted", f'exec "{sys.executable}" "$@"')  # as a shim of pyenv does
    for python in (sys.executable, str(beside), fitted):
        monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
        require_worker_python(spark)


def test_the_python_of_a_cluster_is_not_judged_from_here(
    spark: SparkSession, empty: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(empty / "python3"))
    for master in ("yarn", "k8s://host", "spark://host:7077", "local-cluster[2,1,1024]"):
        monkeypatch.setattr(spark.sparkContext, "master", master)
        require_worker_python(spark)
