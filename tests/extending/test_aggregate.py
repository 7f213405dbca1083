"""An aggregate of one's own (`examples/extending/aggregate.py`)."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "extending" / "aggregate.py"


def test_the_geometric_mean_of_each_minute() -> None:
    """The third root of 2 * 8 * 4 is 4. Of 9 and -1 only 9 has a logarithm."""
    rows = runpy.run_path(str(EXAMPLE))["growth"]().table().to_pylist()
    assert [(row["n"], pytest.approx(row["mean"])) for row in rows] == [(3, 4.0), (2, 9.0)]


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == ["00:00  3 values, mean 4.000", "00:01  2 values, mean 9.000"]
