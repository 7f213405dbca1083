"""The recipe of the lake formats: a table that MERGE keeps up to date has the last word of the embedded engine."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.lake]

EXAMPLE = Path(__file__).parents[2] / "examples" / "lake.py"
FORMATS = {"4.1": "iceberg", "4.2": "delta"}
"""Which there is for the Spark of this environment."""


def test_the_table_has_what_is_left_of_the_changes(tmp_path: Path) -> None:
    lake = FORMATS[pyspark.__version__.rpartition(".")[0]]
    ran = subprocess.run(
        [sys.executable, str(EXAMPLE), lake, str(tmp_path / "lake")],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        timeout=600,
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    recipe = runpy.run_path(str(EXAMPLE))
    left = {}
    for row in recipe["totals"](recipe["orders"]()).table().to_pylist():
        key = (row["product"], row["window"]["start"])
        if row["pane"]["op"] in ("-U", "-D"):
            left.pop(key)
        else:
            left[key] = f"{row['window']['start']:%H:%M}  {row['product']}  n={row['n']} revenue={row['revenue']}"
    assert ran.stdout.splitlines() == [left[key] for key in sorted(left)]
    assert (
        left[next(key for key in sorted(left) if key[0] == "tea")] == "12:00  tea  n=3 revenue=12"
    )  # 3 + 2, and 7 late
    assert pa.concat_tables(recipe["orders"]()).num_rows == 6
