"""Over Spark Connect the sinks work in another process, and write the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from .orders import BUNDLES, asked, corrected, put, standing, stepped

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]


@pytest.mark.usefixtures("connect_port")
def test_a_client_of_spark_connect_writes_what_others_write(tmp_path: Path) -> None:
    put(tmp_path / "in", BUNDLES)
    program = [sys.executable, "-m", "tests.spark.sinks.over_connect", str(tmp_path)]
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        program, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == 0, done.stderr[-4000:]
    said = json.loads((tmp_path / "said.json").read_text())
    assert ["which a Spark Connect client cannot touch" in refused for refused in said["refused"]] == [True, True]
    expected = standing(pa.concat_tables(stepped(corrected, BUNDLES)))
    rows = asked(tmp_path / "t.db", 'SELECT k, n, "values" FROM totals')
    assert sorted(((k, n, json.loads(values)) for k, n, values in rows), key=repr) == sorted(
        ((k, row["n"], row["values"]) for (k, *_), row in expected.items()), key=repr
    )
    assert asked(tmp_path / "t.db", "SELECT query FROM fanlight_batches") == [(said["query"],)]
    assert len((tmp_path / "late.jsonl").read_text().splitlines()) == 2
    counts = ds.dataset(tmp_path / "counts").to_table()
    assert pc.sum(counts["received"]).as_py() == sum(len(bundle) for bundle in BUNDLES)
