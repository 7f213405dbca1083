"""Over has a page, a picture that the engine drew, and an example that runs; and they say the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fanlight as fl
from fanlight.viz.pictures import pictures_of
from fanlight.viz.words import described

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "over.py"


def test_the_picture_is_what_the_engine_gives_today() -> None:
    """`make pictures` draws it anew."""
    (name, document), *rest = pictures_of(EXAMPLE).items()
    assert not rest
    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == document
    assert "over the rows of the last 1 min, delay 20 s" in document
    assert "Dead letters: step 5 (expired)." in document


def test_the_example_runs_and_prints_each_payment_with_its_last_minute() -> None:
    said = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True).stdout
    *rows, late = said.splitlines()
    assert [(row.split()[4], row.split()[6]) for row in rows] == [
        ("1", "4.0"),
        ("1", "9.0"),
        ("2", "6.0"),
        ("2", "5.5"),
        ("3", "4.0"),
    ]
    assert late == "too late: ['2026-05-01T12:00:40Z']"


def test_the_words_are_those_of_the_pipeline() -> None:
    stream = fl.stream([], time="ts")
    both = (
        stream.over(fl.rows(2), forget="1 h").add(n=fl.count()).over(fl.range("1 s", following="2 s")).add(m=fl.count())
    )
    assert described(both.spec) == "over 2 rows before and the row; the rows of the last 1 s and the next 2 s"
    assert described(stream.unique_by("id", within="1 min").spec) == "unique_by('id'), within 1 min"
