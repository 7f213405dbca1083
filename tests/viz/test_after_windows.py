"""Top, fill and `over` in windows and in its modes have pictures that the engine drew, and examples that run."""

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
    ("example", "told"),
    [
        ("top", {"top.svg": ["price=[9, 4]", "price=[9, 8]", "tea [12:00:00, 12:01:00): LATE price=[9, 8].", "top(2"]}),
        (
            "fill",
            {"fill.svg": ["hall [12:02:00, 12:03:00): ON_TIME mean=20.", ">window in which nothing came<", "linear"]},
        ),
        ("over_windows", {"over-windows.svg": ["rows=[2, 4, 1] place=[1, 2, 3]", "Dead letters: step 6 (expired)."]}),
        (
            "over_modes",
            {
                "over-eager.svg": ["the bar is its frame", "eager, delay 40 s", "Dead letters: step 5 (expired)."],
                "over-retracting.svg": ["retracting, retention 10 min", "ON_TIME n=4", ">taken back later<"],
            },
        ),
    ],
)
def test_the_picture_is_what_the_engine_gives_today(example: str, told: dict[str, list[str]]) -> None:
    """`make pictures` draws it anew."""
    drawn = pictures_of(ROOT / "examples" / f"{example}.py")
    assert drawn.keys() == told.keys()
    for name, document in drawn.items():
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == document
        for words in told[name]:
            assert words in document, words


@pytest.mark.parametrize(
    ("example", "last"),
    [
        ("top", "12:01 tea +I rank 1 price 5"),
        ("fill", "12:06 cellar 15.0"),
        ("over_windows", "too late: ['2026-05-01T12:03Z']"),
        ("over_modes", "+I 2026-05-01T12:02:40Z n 2"),
    ],
)
def test_the_example_runs(example: str, last: str) -> None:
    ran = [sys.executable, str(ROOT / "examples" / f"{example}.py")]
    assert subprocess.run(ran, capture_output=True, text=True, check=True).stdout.splitlines()[-1] == last


def test_early_ranks_are_early_and_those_of_sessions_that_grow_are_taken_back() -> None:
    came = [{"ts": 0, "v": 4}, {"ts": 10, "v": 9}, {"ts": 5, "v": 7}]
    early = fl.stream(came, time="ts", unit="s", delay="1 h").window(fl.session("7 s"))
    picture = timeline(early.trigger(fl.at_watermark(early=fl.after(1))).top(1, by="v"), came)
    assert "EARLY v=[9]" in picture
    assert ">window that another replaced<" in picture


def test_what_follows_windows_is_drawn_with_them() -> None:
    stream = fl.stream([], time="ts", unit="s")
    filled = stream.window(fl.tumbling("1 s")).agg(n=fl.count()).fill("null")
    assert described(filled.spec) == "tumbling(1 s), fill(null)"
    with pytest.raises(fl.SpecError, match="what follows windows is drawn with them, from records alone"):
        timeline(filled.spec, [])
    sorted_first = stream.sort().window(fl.tumbling("1 s")).top(1, by="ts")
    with pytest.raises(fl.SpecError, match="a pipeline that has no other stage before"):
        timeline(sorted_first, [])
