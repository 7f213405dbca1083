"""Sort has a page, a picture that the engine drew, and an example that runs; and they say the same."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import fanlight as fl
from fanlight.viz import timeline
from fanlight.viz.pictures import pictures_of

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "sort.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "sort.py"


def test_the_picture_is_what_the_engine_gives_today() -> None:
    """`make pictures` draws it anew."""
    (name, document), *rest = pictures_of(EXAMPLE).items()
    assert not rest
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == document


def test_the_page_shows_the_example_as_it_is() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    example = EXAMPLE.read_text(encoding="utf-8")
    assert all(part.strip() in example for part in block.split("\n\n"))


def test_the_example_runs_and_prints_the_rows_in_order() -> None:
    said = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True).stdout
    assert [line.split()[-1] for line in said.splitlines()[:-1]] == ["2", "1", "4", "3", "7", "6"]
    assert said.splitlines()[-1] == "too late: [5]"


def test_a_bar_says_which_rows_left_and_in_which_step() -> None:
    """Step 3 takes the watermark to 12:05, and lets the rows of steps 2 and 1 leave; 5 is the dead letter's step."""
    document = pictures_of(EXAMPLE)["sort.svg"]
    assert "step 3: the rows of [12:02:00, 12:05:00) left" in document
    assert "all records [12:02:00, 12:05:00): left in step 3, rows=[2, 1]." in document
    assert "all records [12:07:00, the end of time): left at the end, rows=[3, 7, 6]." in document
    assert "Dead letters: step 5 (expired)." in document
    assert "sort(), delay 2 min" in document


def test_keys_have_lanes_and_the_words_are_those_of_the_pipeline() -> None:
    rows = [{"ts": 3, "k": "a"}, {"ts": 1, "k": "b"}, {"ts": 2, "k": "a"}]
    pipeline = fl.stream(rows, time="ts", unit="s").key_by("k").sort("k", order="total")
    document = timeline(pipeline, [rows])
    assert "<title id=\"sort-k-order-total-title\">sort('k', order='total')</title>" in document
    assert "b [the start of time, 00:00:03): left in step 1, rows=[1]." in document


def test_the_example_gives_what_the_page_says() -> None:
    given = runpy.run_path(str(EXAMPLE), run_name="sort")["in_order"]
    assert given.table().column("id").to_pylist() == [2, 1, 4, 3, 7, 6]
