"""Joins have pictures that the engine drew, and examples that run; and they say the same."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import fanlight as fl
from fanlight.viz import timeline
from fanlight.viz.pictures import pictures_of
from fanlight.viz.words import described

from .drawing import Box, Drawing, read

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples" / "joins").glob("*.py"))
ORDERS = [{"ts": ts, "id": number} for ts, number in [(10, 1), (20, 2), (40, 1), (5, 1)]]
PAYMENTS = [{"at": at, "order": number} for at, number in [(15, 1), (95, 1), (41, 1), (30, 9)]]


def orders(**said: Any) -> fl.Stream:
    return fl.stream(ORDERS, **{"time": "ts", "unit": "s", "delay": "5 s", "rows": 1, "name": "o", **said}).key_by("id")


def payments(**said: Any) -> fl.Stream:
    given = {"time": "at", "unit": "s", "delay": "60 s", "rows": 1, "name": "p", **said}
    return fl.stream(PAYMENTS, **given).key_by("order")


MATCHES = {
    "interval": fl.interval("0 s", "1 min"),
    "before and after": fl.interval("-10 s", "10 s"),
    "same time": fl.same_time(),
    "as of": fl.as_of("40 s", "nearest"),
    "tumbling": fl.same_window(fl.tumbling("1 min")),
    "hopping": fl.same_window(fl.hopping("1 min", every="30 s")),
    "session": fl.same_window(fl.session("10 s")),
}


def nodes(drawing: Drawing) -> list[Box]:
    """The joined rows, without the box in the legend."""
    boxes = [one for one in drawing.elements("rect", "ground") if one.get("rx") == "4"]
    sides = [[float(one.get(name, "0")) for name in ("x", "y", "width", "height")] for one in boxes]
    return [Box("row", x, y, x + width, y + height) for x, y, width, height in sides]


def told_rows(drawing: Drawing) -> list[str]:
    return [text for text in drawing.tooltips() if re.search(r": left (in step|at the end)", text)]


def covers_nothing(drawing: Drawing) -> bool:
    apart = not any(one.meets(other) for one, other in combinations(nodes(drawing), 2))
    clear = not drawing.collisions(drawing.text_boxes()) and not drawing.collisions(drawing.records())
    return apart and clear and not list(drawing.outside())


class TestExamples:
    @pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
    def test_each_picture_is_what_the_engine_gives_today(self, path: Path) -> None:
        """`make pictures` draws them anew."""
        for name, document in pictures_of(path).items():
            assert (ROOT / "docs" / name).read_text(encoding="utf-8") == document, f"docs/{name} is old"
            assert covers_nothing(read(document))

    @pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
    def test_each_picture_is_on_its_page_and_the_page_leads_to_the_example(self, path: Path) -> None:
        page = {"as_of": "as-of", "window_join": "window-join"}.get(path.stem, path.stem)
        written = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        shown = dict(re.findall(r"!\[([^\]]*)\]\(([^)]+\.svg)\)", written))
        assert sorted(shown.values()) == sorted(pictures_of(path))
        assert all(len(alt.split()) >= 4 for alt in shown)
        assert f"(../examples/joins/{path.name})" in written

    @pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
    def test_every_row_is_in_the_picture(self, path: Path) -> None:
        names = runpy.run_path(str(path), run_name=path.stem)
        results = [value for value in names.values() if isinstance(value, fl.JoinResult)]
        told = [read(document) for document in names["PICTURES"].values()]
        for result, drawing in zip(results, told, strict=path.stem != "cogroup"):
            rows = result.table().to_pylist()
            gone = sum(row.get("op") == "-D" for row in rows)
            assert len(nodes(drawing)) == len(told_rows(drawing)) == len(rows) - gone
            assert sum("taken back" in text for text in told_rows(drawing)) == gone

    @pytest.mark.parametrize(
        ("name", "last"),
        [
            ("join", "too late: ['2026-05-01T12:00:50Z']"),
            ("as_of", "2026-05-01T12:00:44Z A 10.9 bid None"),
            ("window_join", "too late: ['2026-05-01T12:02Z']"),
            ("tables", "2026-05-01T12:28Z EUR 40.0 rate None"),
            ("cogroup", "too late: 1"),
        ],
    )
    def test_it_runs(self, name: str, last: str) -> None:
        ran = [sys.executable, str(ROOT / "examples" / "joins" / f"{name}.py")]
        assert subprocess.run(ran, capture_output=True, text=True, check=True).stdout.splitlines()[-1] == last

    def test_every_example_is_looked_at_here(self) -> None:
        assert [path.stem for path in EXAMPLES] == ["as_of", "cogroup", "join", "tables", "window_join"]


class TestWhatIsShown:
    @pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
    @pytest.mark.parametrize("match", MATCHES)
    def test_every_row_of_every_join_is_a_box_and_nothing_covers_anything(self, match: str, how: str) -> None:
        if match == "as of" and how in ("right", "full"):
            return  # there is no such join
        joined = orders().join(payments(), MATCHES[match], how=how)  # type: ignore[arg-type]
        drawing = read(timeline(joined, title="Orders and payments"))
        assert len(nodes(drawing)) == len(told_rows(drawing)) == len(joined.table())
        assert covers_nothing(drawing)

    def test_a_row_is_tied_to_its_records_and_says_its_step(self) -> None:
        """The orders of 10 s and 40 s have payments; all leave at the end, because p has not passed 70 s before."""
        drawing = read(timeline(orders().join(payments(), fl.interval("0 s", "59 s"), how="left")))
        assert sorted(told_rows(drawing)) == [
            "o of step 1 with p of step 1: left at the end",
            "o of step 1 with p of step 3: left at the end",
            "o of step 2 without a match: left at the end",
            "o of step 3 with p of step 2: left at the end",
            "o of step 3 with p of step 3: left at the end",
        ]
        marks = {round(x) for one in drawing.elements("line", "on_time") for x in [float(one.get("x1", "0"))]}
        records = {round((box.left + box.right) / 2) for box in drawing.records()}
        assert marks <= records
        assert len(drawing.elements("line", "on_time")) == 9  # four pairs, and one alone

    def test_dead_letters_of_both_sides_are_crosses(self) -> None:
        """The order of 5 s comes when o is at 35 s, the payment of 30 s when p is at 35 s, that of 41 s in time."""
        document = timeline(orders().join(payments(), fl.interval("0 s", "1 min")))
        assert read(document).texts.count("4 expired") == 2
        told = re.search(r"<desc[^>]*>(.*?)</desc>", document)
        assert told is not None
        assert told[1].endswith("Dead letters: p of step 4 (expired), o of step 4 (expired).")

    def test_the_watermark_of_each_side_goes_on_step_by_step(self) -> None:
        drawing = read(timeline(orders().join(payments(), fl.interval("0 s", "1 min"))))
        said = [text for text in drawing.tooltips() if text.startswith("after step")]
        assert [text for text in said if "watermark of o" in text][:2] == [
            "after step 1 the watermark of o is 00:00:05",
            "after step 2 the watermark of o is 00:00:15",
        ]
        assert "after step 2 the watermark of p is 00:00:35" in said
        assert drawing.tooltips().count("the input ends: every row that waits leaves") == 2

    def test_a_side_that_has_ended_says_so(self) -> None:
        short = fl.stream(ORDERS[:1], time="ts", unit="s", rows=1, delay="0 s", name="o").key_by("id")
        drawing = read(timeline(short.join(payments(), fl.interval("0 s", "1 min"))))
        assert "in step 2 o has ended" in drawing.tooltips()

    def test_the_interval_is_a_bracket_at_each_left_row_that_was_taken(self) -> None:
        drawing = read(timeline(orders().join(payments(), fl.interval("0 s", "1 min"))))
        reaches = [text for text in drawing.tooltips() if text.startswith("matches are")]
        assert reaches == [
            "matches are from 00:00:10 to 00:01:10",
            "matches are from 00:00:40 to 00:01:40",
            "matches are from 00:00:20 to 00:01:20",
        ]

    def test_what_is_kept_up_to_date_shows_what_was_taken_back(self) -> None:
        early = fl.stream(ORDERS[:1], time="ts", unit="s", name="o").key_by("id")
        slow = fl.stream([PAYMENTS[3], PAYMENTS[0]], time="at", unit="s", delay="1 min", rows=1, name="p")
        shown = early.join(slow.key_by("order"), fl.interval("0 s", "1 min"), how="left").retracting()
        drawing = read(timeline(shown))
        assert told_rows(drawing) == [
            "o of step 1 without a match: left in step 1, taken back in step 2",
            "o of step 1 with p of step 2: left in step 2",
        ]
        assert {"+I 1", "-D 2", "+I 2"} <= set(drawing.texts)
        assert [one.text for one in drawing.elements("text", "gone")] == ["+I 1", "null"]

    def test_a_record_that_a_change_took_back_is_hollow(self) -> None:
        rows = [(10, "+I", 1, 30), (20, "+I", 2, 12), (25, "-D", 2, 12)]
        changed = [dict(zip(("ts", "op", "id", "price"), row, strict=True)) for row in rows]
        said: dict[str, Any] = {"op": "op", "unique": "id", "rows": 1}
        stream = fl.stream(changed, time="ts", unit="s", delay="1 min", name="o", **said).key_by("id")
        drawing = read(timeline(stream.join(payments(), fl.interval("0 s", "1 min"), how="left").retracting()))
        assert "taken back by a change" in drawing.texts
        assert any("came in step 2, taken back by a change" in text for text in drawing.tooltips())

    def test_a_delete_that_comes_too_late_leaves_its_row(self) -> None:
        rows = [(10, "+I", 1, 30), (80, "+I", 2, 12), (10, "-D", 1, 30)]
        changed = [dict(zip(("ts", "op", "id", "price"), row, strict=True)) for row in rows]
        said: dict[str, Any] = {"op": "op", "unique": "id", "rows": 1}
        stream = fl.stream(changed, time="ts", unit="s", delay="5 s", name="o", **said).key_by("id")
        joined = stream.join(payments(), fl.interval("0 s", "1 min"), how="left").retracting()
        drawing = read(timeline(joined))
        assert len(told_rows(drawing)) == 3  # order 1 with two payments, order 2 with none
        assert not any("taken back" in text for text in (*told_rows(drawing), *drawing.texts))

    def test_aggregates_have_their_values_and_all_their_matches(self) -> None:
        sums = orders().join(payments(), fl.interval("0 s", "2 min"), how="left").agg(n=fl.count(), last=fl.max("at"))
        drawing = read(timeline(sums))
        bold = [one.text for one in drawing.elements("text", "last")]
        assert sorted(text for text in bold if text) == ["n=0 last=null", "n=2 last=95", "n=3 last=95"]
        assert "o of step 1 with p of step 1 with p of step 3 with p of step 2: left at the end, n=3, last=95" in (
            told_rows(drawing)
        )

    def test_a_table_without_times_stands_at_the_start(self) -> None:
        names = fl.table([{"id": 1, "long": "one"}], key="id")
        drawing = read(timeline(orders().join(names, how="left")))
        assert any(text.startswith("record at the start of time") for text in drawing.tooltips())
        assert covers_nothing(drawing)

    def test_where_and_select_are_done_first(self) -> None:
        some = payments().where(fl.col("at") < 90).select("at", "order")
        drawing = read(timeline(orders().select("ts", "id").join(some, fl.interval("0 s", "2 min"))))
        assert sum(text.startswith("record") for text in drawing.tooltips()) == len(ORDERS) + len(PAYMENTS) - 1

    def test_stages_before_it_bring_their_rows(self) -> None:
        counts = payments().window(fl.tumbling("1 min")).agg(n=fl.count())
        joined = orders().join(counts.key_by("order"), fl.interval("0 s", "2 min"), how="left")
        drawing = read(timeline(joined))
        assert any("n=2" in text for text in drawing.tooltips())
        assert len(nodes(drawing)) == len(joined.table())

    def test_a_record_without_a_time_stands_beside_the_axis(self) -> None:
        broken = fl.stream([*ORDERS, {"ts": None, "id": 1}], time="ts", unit="s", rows=1, delay="5 s", name="o")
        drawing = read(timeline(broken.key_by("id").join(payments(), fl.interval("0 s", "1 min"))))
        assert "5 null_time" in drawing.texts
        assert covers_nothing(drawing)

    def test_the_line_of_words(self) -> None:
        joined = orders().join(payments(), fl.interval("0 s", "1 min", closed="left"), lateness="5 s")
        assert described(joined.spec) == "inner join of o and p, interval(0 s, 1 min, closed=left), lateness 5 s"
        assert described(joined.on_close().spec).endswith("on_close, lateness 5 s")
        windows = orders().join(payments(), fl.same_window(fl.tumbling("1 min")), how="full")
        assert described(windows.spec) == "full join of o and p, same_window(tumbling(1 min))"
        nearest = orders().join(payments(), fl.as_of("10 s"))
        assert described(nearest.spec) == (
            "inner join of o and p, the newest at or before the left row's time, no further than 10 s"
        )


class TestTheDocument:
    def test_the_same_run_gives_the_same_bytes_and_can_still_be_read(self) -> None:
        joined = orders().join(payments(), fl.interval("0 s", "1 min"), how="left")
        assert timeline(joined) == timeline(joined)
        assert len(joined.table()) == 5

    def test_it_tells_what_it_shows_to_who_cannot_see_it(self) -> None:
        document = timeline(orders().join(payments(), fl.interval("0 s", "1 min"), how="left"), title="Paid")
        title, description = list(read(document).root)[:2]
        assert title.text == "Paid"
        assert "1: o of step 1 with p of step 1: left at the end." in (description.text or "")
        assert "2: o of step 2 without a match: left at the end." in (description.text or "")
        assert "@media (prefers-color-scheme: dark)" in document

    def test_a_notebook_shows_it(self) -> None:
        (page,) = [getattr(orders().join(payments(), fl.same_time()), name)() for name in ("_repr_html_",)]
        assert 'src="data:image/svg+xml;base64,' in page

    def test_steps_do_not_say_whose_they_are(self) -> None:
        joined = orders().join(payments(), fl.interval("0 s", "1 min"))
        with pytest.raises(fl.SpecError, match=r"a step does not say of which its records are\. Leave the steps out"):
            timeline(joined, [ORDERS])
        with pytest.raises(fl.SpecError, match="a spec has no records of its own"):
            timeline(joined.spec)


class TestCogroup:
    def test_each_input_has_a_line_of_its_own(self) -> None:
        both = fl.cogroup(o=orders(name=None), p=payments(name=None), how="inner").window(fl.tumbling("1 min"))
        drawing = read(timeline(both.agg(n=fl.count(), last=fl.max("p.at"))))
        assert [text for text in drawing.texts if text in ("o", "p")] == ["o", "p"] * 3  # of each key
        assert "cogroup of o and p, tumbling(1 min), needs o and p" in drawing.texts
        assert any(text.endswith("id=1, p.at=15") for text in drawing.tooltips())
        assert not any("here." in text for text in drawing.tooltips())
