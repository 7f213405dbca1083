"""`unique_by` and `recent` have pages, pictures that the engine drew, and examples that run; and they say the same."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fanlight as fl
from fanlight.viz import timeline
from fanlight.viz.pictures import pictures_of
from fanlight.viz.words import described

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("unique", ["in its bar others of its id repeat it", ">duplicate<", "Dead letters: step 7 (expired)."]),
        ("recent", ["the bar is where it is shown", "until step=4", "the input ends: what is shown stays"]),
    ],
)
def test_the_picture_is_what_the_engine_gives_today(name: str, told: list[str]) -> None:
    """`make pictures` draws it anew."""
    ((file, document),) = pictures_of(ROOT / "examples" / f"{name}.py").items()
    assert (ROOT / "docs" / file).read_text(encoding="utf-8") == document
    assert all(words in document for words in told)


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("unique", ["duplicates: 3", "too late: ['2026-05-01T12:01:30Z']"]),
        ("recent", ["-D 2026-05-01T12:06Z 2", "too late: [6]"]),
    ],
)
def test_the_example_runs(name: str, last: list[str]) -> None:
    example = str(ROOT / "examples" / f"{name}.py")
    said = subprocess.run([sys.executable, example], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-2:] == last


def test_rows_of_one_time_share_a_bar_and_the_first_is_taken_back_first() -> None:
    """Both come at 1 and go when 30 comes: none of them stands."""
    came = [{"ts": 1}, {"ts": 1}, {"ts": 30}]
    document = timeline(fl.stream([], time="ts", unit="s").recent("10 s"), came)
    assert document.count("until step=3<") == 2


def test_the_words_are_those_of_the_pipeline() -> None:
    assert described(fl.stream([], time="ts").recent("1 hour").spec) == "recent(1 h)"
