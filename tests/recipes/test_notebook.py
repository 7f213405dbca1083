"""The notebook of the examples, run in a kernel: it shows what is written in it, and everything by itself."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .extracted import NOTEBOOK, ROOT


def outputs(path: Path) -> list[dict[str, Any]]:
    """What the cells gave, the first first."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [output for cell in cells for output in cell.get("outputs", [])]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ran")
    command = [sys.executable, str(ROOT / "website" / "notebook.py"), str(NOTEBOOK), str(folder / "ran.ipynb")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "ran.ipynb"


@pytest.mark.slow
class TestNotebook:
    def test_it_gives_what_is_written_in_it(self, ran: Path) -> None:
        """`make pictures` writes it anew."""
        assert outputs(ran) == outputs(NOTEBOOK)

    def test_results_show_themselves_with_plan_rows_and_picture(self, ran: Path) -> None:
        pages = ["".join(one["data"]["text/html"]) for one in outputs(ran) if "text/html" in one.get("data", {})]
        totals, corrected, joined = [page for page in pages if "fanlight pipeline" in page]
        assert all("<summary>plan</summary>" in page and "<table>" in page for page in (totals, corrected, joined))
        drawn = [base64.b64decode(page.partition("base64,")[2].partition('"')[0]).decode() for page in pages]
        assert [("n=3 revenue=9" in picture, "LATE" in picture) for picture in drawn if picture.startswith("<svg")][
            :2
        ] == [(True, False), (True, True)]

    def test_nothing_is_an_error_or_a_warning(self, ran: Path) -> None:
        assert {one["output_type"] for one in outputs(ran)} == {"execute_result", "stream"}
        assert {one["name"] for one in outputs(ran) if one["output_type"] == "stream"} == {"stdout"}
