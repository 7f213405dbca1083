"""Stages have a page, a picture that the engine drew, and an example that runs; and they say the same."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import fanlight as fl
from fanlight.viz import TimelineStep, stages, timeline
from fanlight.viz.pictures import pictures_of

from .drawing import Drawing, read

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "stages.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "stages.py"
CLICKS = [{"ts": ts, "k": k} for ts, k in [(1, "a"), (2, "b"), (61, "a"), (130, "a")]]


def minutes(**said: str) -> fl.Result:
    stream = fl.stream(CLICKS, time="ts", unit="s", rows=1, delay="0 s").key_by("k")
    return stream.window(fl.tumbling("1 minute"), **said).agg(n=fl.count())  # type: ignore[arg-type]


def untangled(drawing: Drawing) -> bool:
    """Whether nothing covers anything, and all of it is inside."""
    boxes = (drawing.bars(), drawing.records(), drawing.text_boxes())
    return not any(drawing.collisions(each) for each in boxes) and not list(drawing.outside())


class TestExample:
    def test_the_picture_is_what_the_engine_gives_today(self) -> None:
        """`make pictures` draws it anew."""
        (name, document), *rest = pictures_of(EXAMPLE).items()
        assert not rest
        assert (ROOT / "docs" / name).read_text(encoding="utf-8") == document

    def test_the_page_shows_the_example_as_it_is(self) -> None:
        shown = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if ">>>" not in block]
        assert len(shown) == 1
        assert shown[0] in EXAMPLE.read_text(encoding="utf-8")

    def test_it_runs_and_prints_the_results_of_the_last_stage(self) -> None:
        """The late order of step 8 makes seven orders of six; the last quarter of an hour has one."""
        said = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True).stdout
        assert said.splitlines() == [
            "12:00-12:15 2 6 ON_TIME +I",
            "12:00-12:15 2 7 LATE +U",
            "12:15-12:30 1 1 ON_TIME +I",
            "stage 1: 8 records, 0 dead letters",
            "stage 2: 9 records, 0 dead letters",
        ]

    def test_nothing_covers_anything(self) -> None:
        assert untangled(read(pictures_of(EXAMPLE)["stages.svg"]))

    def test_both_stages_show_what_they_gave(self) -> None:
        texts = read(pictures_of(EXAMPLE)["stages.svg"]).texts
        last = runpy.run_path(str(EXAMPLE), run_name="stages")["busiest"]
        for row in last.table().to_pylist():
            assert f"most={row['most']} orders={row['orders']}" in texts
        assert "stage 1: tumbling(5 min), lateness 10 min, retracting" in texts
        assert "stage 2: tumbling(15 min), lateness 10 min" in texts


class TestStages:
    def test_rows_of_a_stage_are_the_records_of_the_next_in_the_same_step(self) -> None:
        """Step 3 closes the first minute of both keys; the last two minutes leave in step 4 and at the end."""
        document = stages(minutes().window(fl.tumbling("1 hour")).agg(all=fl.sum("n")), CLICKS, title="Hours")
        assert "record at 00:00:59.999999, came in step 3, accepted\nk=a, n=1" in document
        assert "record at 00:00:59.999999, came in step 3, accepted\nk=b, n=1" in document
        assert "record at 00:01:59.999999, came in step 4, accepted" in document
        assert "record at 00:02:59.999999, came in step end, accepted" in document
        assert "Stage 2: tumbling(1 h). 4 records in 5 steps." in document

    def test_both_have_one_axis(self) -> None:
        """A tick stands at the same place in both parts."""
        drawing = read(stages(minutes().window(fl.tumbling("3 minutes")).agg(n=fl.sum("n")), CLICKS, title="One axis"))
        ticks = [(text.left, text.what) for text in drawing.text_boxes() if text.what == "00:02:00"]
        assert len(ticks) == 2
        assert ticks[0] == ticks[1]
        assert untangled(drawing)

    def test_a_late_result_is_a_dead_letter_of_a_sort(self) -> None:
        """The click of second 5 corrects the first minute, whose result has left the sort."""
        clicks = [*CLICKS, {"ts": 5, "k": "b"}]
        document = stages(minutes(lateness="1 hour").sort(), clicks, title="Sorted")
        assert "Dead letters: step 5 (expired)." in document
        assert "left in step 4, rows=[4]." in document

    def test_three_stages(self) -> None:
        chain = minutes().sort("k").window(fl.tumbling("1 hour")).agg(n=fl.sum("n"))
        drawing = read(stages(chain, CLICKS, title="Three"))
        assert [text for text in drawing.texts if text.startswith("stage ")] == [
            "stage 1: tumbling(1 min)",
            "stage 2: sort('k')",
            "stage 3: tumbling(1 h)",
        ]
        assert untangled(drawing)

    def test_windows_grouped_again(self) -> None:
        document = stages(minutes().rewindow().agg(best=fl.max("n")), CLICKS, title="Again")
        assert document.count("best=1") >= 3

    def test_the_caller_may_move_the_watermark(self) -> None:
        steps = [TimelineStep([CLICKS[0]], watermark=120_000_000), TimelineStep(watermark=4_000_000_000)]
        said = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).window(fl.tumbling("1 minute"))
        hours = said.agg(n=fl.count()).window(fl.tumbling("1 hour")).agg(n=fl.sum("n"))
        document = stages(hours, steps, title="By hand")
        assert "came in step 1, accepted\nn=1, window_start" in document
        assert "Stage 2: tumbling(1 h). 1 records in 3 steps." in document

    def test_what_a_picture_does_not_show_is_refused(self) -> None:
        with pytest.raises(fl.SpecError, match=r"prepares its records by where.*Draw a pipeline without it"):
            stages(minutes().where(fl.col("n") > 1).sort(), CLICKS, title="Filtered")
        inputs = {name: fl.stream(CLICKS, time="ts", unit="s") for name in ("a", "b")}
        with pytest.raises(fl.SpecError, match="reads several inputs"):
            stages(fl.union(**inputs).sort(), CLICKS, title="Two")


class TestSteps:
    def test_one_that_ends_the_input_may_bring_records(self) -> None:
        document = timeline(minutes(), [CLICKS[:2], TimelineStep(CLICKS[2:], ends=True)])
        assert "came in step end" in document
        assert "4 records in 2 steps." in document
        assert document == timeline(minutes(), [CLICKS[:2], TimelineStep(CLICKS[2:], ends=True)], ends=False)
