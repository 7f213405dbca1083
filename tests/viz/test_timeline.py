"""A picture shows what the engine gave, all of it, and nothing covers anything."""

from __future__ import annotations

import re

import pytest

import fanlight as fl
from fanlight.viz import TimelineStep, timeline

from .drawing import read

ORDERS = [
    {"ts": 2, "product": "tea", "price": 3},
    {"ts": 7, "product": "tea", "price": 2},
    {"ts": 12, "product": "coffee", "price": 4},  # W 12: [0, 10) closes
    {"ts": 9, "product": "tea", "price": 5},  # late: W is 12, [0, 10) expires at 15
    {"ts": 18, "product": "coffee", "price": 1},  # W 18
    {"ts": 5, "product": "tea", "price": 9},  # expired
]


def windowed() -> fl.Windowed:
    stream = fl.stream(ORDERS, time="ts", unit="s", rows=1, delay="0 s").key_by("product")
    return stream.window(fl.tumbling("10 seconds"), lateness="5 seconds")


def totals() -> fl.Result:
    return windowed().agg(total=fl.sum("price"))


class TestWhatIsShown:
    def test_the_last_values_of_every_window_stand_out(self) -> None:
        drawing = read(timeline(totals(), ORDERS))
        bold = [element.text for element in drawing.elements("text", "last")]
        # tea [0, 10) with the late 5; coffee [10, 20)
        assert sorted(bold) == ["total=10", "total=5"]

    def test_each_firing_has_the_mark_of_its_timing_and_the_number_of_its_step(self) -> None:
        drawing = read(timeline(totals(), ORDERS))
        tooltip = next(text for text in drawing.tooltips() if "total=10" in text)
        assert tooltip.splitlines() == [
            "window [00:00:00, 00:00:10)",
            "step 3: ON_TIME total=5",
            "step 4: LATE total=10",
        ]
        in_bars_and_legend = len(drawing.elements("polygon", "late"))
        assert in_bars_and_legend == 2

    def test_a_late_record_and_a_dead_letter_are_not_like_the_others(self) -> None:
        drawing = read(timeline(totals(), ORDERS))
        assert "6 expired" in drawing.texts
        assert len(drawing.elements("path", "cross")) == 3  # in its lane, among the steps, in the legend
        fates = [text.splitlines()[0].rsplit(", ", 1)[1] for text in drawing.tooltips() if text.startswith("record")]
        assert fates == ["accepted", "accepted", "late", "dead letter: expired", "accepted", "accepted"]

    def test_what_is_taken_back_is_struck_through(self) -> None:
        drawing = read(timeline(windowed().retracting().agg(total=fl.sum("price")), ORDERS))
        gone = [element.text for element in drawing.elements("text", "gone")]
        assert gone == ["total=5", "n=1"]  # the on-time firing, and the legend

    def test_a_session_that_another_replaced_is_dashed(self) -> None:
        clicks = [{"ts": 0}, {"ts": 8}, {"ts": 4}]  # the third joins the two
        visits = fl.stream(clicks, time="ts", unit="s", delay="1 minute").window(fl.session("5 seconds"))
        live = visits.trigger(fl.at_watermark(early=fl.after(1))).retracting().agg(n=fl.count())
        drawing = read(timeline(live, clicks))
        assert len(drawing.elements("path", "replaced")) == 2
        assert len(drawing.bars()) == 3

    def test_every_key_has_a_lane_in_the_order_of_arrival(self) -> None:
        drawing = read(timeline(totals(), ORDERS))
        assert [element.text for element in drawing.elements("text", "key")] == ["tea", "coffee"]

    def test_the_watermark_goes_on_step_by_step(self) -> None:
        drawing = read(timeline(totals(), ORDERS))
        reached = [text for text in drawing.tooltips() if text.startswith("after step")]
        assert [text.rsplit(" ", 1)[1][-2:] for text in reached] == ["02", "07", "12", "12", "18", "18"]
        assert "the input ends: every window closes" in drawing.tooltips()

    def test_an_input_that_goes_on_shows_only_what_has_fired(self) -> None:
        drawing = read(timeline(totals(), ORDERS, ends=False))
        assert [element.text for element in drawing.elements("text", "last")] == ["total=10"]
        assert "end" not in drawing.texts

    def test_a_step_may_move_the_watermark_alone(self) -> None:
        spec = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).window(fl.tumbling("10 seconds"))
        steps = [
            TimelineStep([{"ts": 3}, {"ts": 4}]),
            TimelineStep(watermark="1970-01-01T00:00:10Z"),
            TimelineStep([{"ts": 5}]),
        ]
        drawing = read(timeline(spec.agg(n=fl.count()), steps))
        assert any("step 2: ON_TIME n=2" in text for text in drawing.tooltips())
        assert "3 expired" in drawing.texts

    def test_a_record_without_a_time_stands_beside_the_axis(self) -> None:
        records = [{"ts": "2026-03-01T12:00Z"}, {"ts": "soon"}]
        drawing = read(timeline(fl.stream(records, time="ts").window(fl.tumbling("1 h")).agg(n=fl.count()), records))
        assert "2 unparsable_time" in drawing.texts

    def test_the_global_window_is_open_at_both_ends(self) -> None:
        drawing = read(
            timeline(fl.stream([], time="ts", unit="us").window(fl.global_window()).agg(n=fl.count()), [{"ts": 5}])
        )
        assert any("[the start of time, the end of time)" in text for text in drawing.tooltips())

    def test_no_records_make_an_empty_picture(self) -> None:
        assert read(timeline(totals(), [])).bars() == []


class TestTheDocument:
    def test_the_same_input_gives_the_same_bytes(self) -> None:
        assert timeline(totals(), ORDERS, title="Orders") == timeline(totals(), list(ORDERS), title="Orders")

    def test_a_spec_and_its_pipeline_give_the_same(self) -> None:
        assert timeline(totals().spec, ORDERS) == timeline(totals(), ORDERS)

    def test_it_tells_what_it_shows_to_who_cannot_see_it(self) -> None:
        root = read(timeline(totals(), ORDERS, title="Orders of tea")).root
        title, description = list(root)[:2]
        assert root.get("role") == "img"
        assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
        assert title.text == "Orders of tea"
        assert "tea [00:00:00, 00:00:10): LATE total=10." in (description.text or "")
        assert "Dead letters: step 6 (expired)." in (description.text or "")

    def test_it_scales_and_has_colours_for_the_dark(self) -> None:
        document = timeline(totals(), ORDERS)
        assert re.match(r'<svg xmlns="[^"]+" viewBox="0 0 960 [\d.]+"', document)
        assert "@media (prefers-color-scheme: dark)" in document

    def test_no_text_is_small(self) -> None:
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", timeline(totals(), ORDERS))]
        assert min(sizes) >= 11

    def test_nothing_is_fetched_and_nothing_runs(self) -> None:
        document = timeline(totals(), ORDERS)
        assert not re.search(r"<script|@import|@font-face|url\(|href", document)
        assert document.count("http") == 1  # the name of SVG itself

    @pytest.mark.parametrize("text", ["<b>&amp;\"'</b>", "]]>", "a\x00b\x1f", "日本", "\ud800"])
    def test_whatever_a_key_says_is_text(self, text: str) -> None:
        records = [{"ts": 1, "key": text.encode("utf-8", "replace").decode()}]
        result = (
            fl.stream(records, time="ts", unit="us").key_by("key").window(fl.tumbling("1 s")).agg(last=fl.last("key"))
        )
        drawing = read(timeline(result, records, title=text))
        assert not list(drawing.root.iter("b"))
        assert drawing.elements("text", "title")[0].text == re.sub("[\x00\x1f\ud800]", "?", text)


CROWDS = {
    "overlapping": (fl.hopping("20 seconds", every="1 second"), [(n, n % 3) for n in range(0, 30, 3)]),
    "many keys": (fl.tumbling("5 seconds"), [(n, n) for n in range(25)]),
    "one instant": (fl.tumbling("5 seconds"), [(3, 0)] * 30),
    "far apart": (fl.tumbling("1 second"), [(0, 0), (1, 0), (2, 0), (100_000, 0)]),
    "at the right": (fl.tumbling("1 second"), [(0, 0), (95, 0), (99, 0), (100, 0), (20, 0)]),
    "years": (fl.tumbling("1 day"), [(n * 40_000_000, 0) for n in range(20)]),
    "many steps": (fl.tumbling("100 seconds"), [(n, 0) for n in range(70)]),
    "sliding": (fl.sliding("7 seconds", "both"), [(n * n % 31, n % 2) for n in range(20)]),
    "counting": (fl.counting(4, every=2), [(n, n % 3) for n in range(20)]),
}


class TestNothingCoversAnything:
    @pytest.mark.parametrize("name", CROWDS)
    @pytest.mark.parametrize("early", [False, True], ids=["once", "every update"])
    def test_in_a_crowd(self, name: str, early: bool) -> None:
        kind, times = CROWDS[name]
        records = [{"ts": time, "key": f"key {key}", "price": 1.5 * time} for time, key in times]
        windows = fl.stream(records, time="ts", unit="s").key_by("key").window(kind)
        if early:
            windows = windows.trigger(fl.at_watermark(early=fl.after(1)))
        result = windows.agg(n=fl.count(), total=fl.sum("price"), all_of_them=fl.list("price"))
        drawing = read(timeline(result, records, title=name))
        assert drawing.collisions(drawing.bars()) == []
        assert drawing.collisions(drawing.records()) == []
        assert drawing.collisions(drawing.text_boxes()) == []
        assert list(drawing.outside()) == []
        assert drawing.bars()
