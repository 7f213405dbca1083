"""The plan of a pipeline as HTML and as a picture says what its text says, and shows which way records go."""

from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import fanlight as fl
from fanlight.viz.pictures import pictures_of

ROOT = Path(__file__).resolve().parents[2]
SVG = "{http://www.w3.org/2000/svg}"


def stream(name: str | None = None, delay: str = "5 s") -> fl.Stream:
    return fl.stream([], time="ts", unit="s", delay=delay, name=name).key_by("id")


def counted(one: Any) -> Any:
    return one.window(fl.tumbling("1 min")).agg(n=fl.count())


def unkeyed() -> fl.Stream:
    return fl.stream([], time="ts", unit="s", delay="1 s")


PIPELINES: dict[str, Any] = {
    "windows": counted(stream()),
    "sort": stream().where(fl.col("x") > 1).sort("id"),
    "over": stream().over(fl.range("1 min")).add(n=fl.count()),
    "top": stream().window(fl.tumbling("1 min")).top(3, by="x"),
    "fill": counted(stream()).fill("null"),
    "unique": stream().unique_by("id", within="1 min"),
    "recent": stream().recent("1 h"),
    "stages": counted(counted(stream()).sort()),
    "union": counted(fl.union(a=unkeyed(), b=unkeyed(), c=unkeyed())),
    "cogroup": counted(fl.cogroup(a=stream(), b=stream(), how="inner")),
    "interval join": stream("o").join(stream("p"), fl.interval("0 s", "1 min"), how="left"),
    "as-of join": stream("o").join(stream("p"), fl.as_of("1 min")),
    "window join": stream("o").join(stream("p"), fl.same_window(fl.tumbling("1 min"))),
    "aggregated join": stream("o").join(stream("p"), fl.interval("0 s", "1 min")).agg(n=fl.count()),
    "join with a table": stream("o").join(fl.table([], key="id"), how="left"),
    "join of stages": counted(counted(stream("o")).join(stream("p"), fl.as_of("1 min"), on="id")),
}


def words_of(text: str) -> set[str]:
    """The facts of a plan, with what they are called."""
    return {line.strip() for line in re.sub(r"(?m)^(\w+) +", r"\1 ", text).splitlines() if line.strip()}


def facts_in_html(page: str) -> set[str]:
    plain = re.sub(r"</?b>", "", page)
    return {f"{word} {unescape(text)}" for word, text in re.findall(r"<dt[^>]*>(.*?)</dt><dd[^>]*>(.*?)</dd>", plain)}


def facts_in_svg(document: str) -> set[str]:
    """The facts of the boxes; a text that goes on in the next line is one."""
    found: list[str] = []
    texts = [one for one in ET.fromstring(document).iter(f"{SVG}text") if one.get("class") not in ("key", "small")]
    for one in texts:
        if one.get("class") == "faint":
            found.append(one.text or "")
        else:
            found[-1] += f" {one.text}"
    return set(found)


@pytest.mark.parametrize("name", PIPELINES)
class TestEveryPipeline:
    def test_says_in_html_and_in_the_picture_what_its_text_says(self, name: str) -> None:
        """All but what the text says of the places of inputs: there these have boxes."""
        result = PIPELINES[name]
        said = {line for line in words_of(result.explain()) if not line.startswith("reads ")}
        assert said <= facts_in_html(result.explain("html"))
        assert said <= facts_in_svg(result.explain("svg"))

    def test_has_a_box_for_each_stage_and_each_source(self, name: str) -> None:
        result = PIPELINES[name]
        sources = {"union": 3, "cogroup": 2}.get(name, 2 if "join" in name else 1)
        root = ET.fromstring(result.explain("svg"))
        boxes = [one.get("class", "").split()[0] for one in root.iter(f"{SVG}rect")]
        assert boxes.count("on_time") == len(result.stages)
        assert boxes.count("replaced") >= sources
        assert result.explain("html").count("<section") == boxes.count("on_time") + boxes.count("replaced")

    def test_stays_inside_its_picture_and_its_boxes_are_apart(self, name: str) -> None:
        root = ET.fromstring(PIPELINES[name].explain("svg"))
        _, _, width, height = (float(number) for number in root.get("viewBox", "").split())
        boxes = [
            [float(one.get(side, "0")) for side in ("x", "y", "width", "height")]
            for one in root.iter(f"{SVG}rect")
            if one.get("class") in ("on_time bar", "replaced")
        ]
        for place, (x, y, wide, high) in enumerate(boxes):
            assert x >= 0
            assert y >= 0
            assert x + wide <= width
            assert y + high <= height
            for other in boxes[place + 1 :]:
                assert (
                    x + wide <= other[0] or other[0] + other[2] <= x or y + high <= other[1] or other[1] + other[3] <= y
                )
        for text in root.iter(f"{SVG}text"):
            size = 11 if text.get("class") == "small" else 12
            assert float(text.get("x", "0")) + len(text.text or "") * size * 0.602 <= width


class TestPicture:
    def test_it_is_a_graph_whose_lines_meet_at_the_join(self) -> None:
        root = ET.fromstring(PIPELINES["interval join"].explain("svg"))
        ends = {re.findall(r"H([\d.]+)V([\d.]+)$", one.get("d", ""))[0] for one in root.iter(f"{SVG}path")}
        assert len(ends) == 1
        titles = [one.text for one in root.iter(f"{SVG}text") if one.get("class") == "key"]
        assert titles == ["o: a list", "p: a list", "left join of o and p, interval(0 s, 1 min)"]

    def test_it_tells_what_it_shows_to_who_cannot_see_it(self) -> None:
        result = PIPELINES["stages"]
        title, description = list(ET.fromstring(result.explain("svg")))[:2]
        assert title.text == "Plan: stage 3: tumbling(1 min)"
        assert description.text == result.explain()

    def test_it_has_colours_for_the_dark_and_fetches_nothing(self) -> None:
        document = PIPELINES["union"].explain("svg")
        assert "@media (prefers-color-scheme: dark)" in document
        assert not re.search(r"<script|@import|@font-face|url\(|href", document)
        assert document == PIPELINES["union"].explain("svg")

    def test_whatever_a_column_says_is_text(self) -> None:
        odd = fl.stream([], time="ts", unit="s").key_by("<b>&").sort()
        assert not list(ET.fromstring(odd.explain("svg")).iter(f"{SVG}b"))
        assert "&lt;b&gt;&amp;" in odd.explain("html")

    def test_the_one_of_the_docs_is_that_of_its_example(self) -> None:
        """`make pictures` draws it anew."""
        example = ROOT / "examples" / "plan.py"
        assert pictures_of(example) == {"plan.svg": (ROOT / "docs" / "plan.svg").read_text(encoding="utf-8")}
        ran = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=True)
        assert ran.stdout.startswith("runs       in this process, in one shard\n")


def test_the_watermark_of_an_input_that_is_a_stage_is_that_of_the_stage() -> None:
    said = "the least of p (5 s behind the greatest time seen), left (that of the stage before)"
    assert f"watermark  {said}" in PIPELINES["join of stages"].explain()


def test_a_notebook_shows_it() -> None:
    (page,) = [getattr(PIPELINES["stages"], name)() for name in ("_repr_html_",)]
    assert PIPELINES["stages"].explain("html") in page


def test_another_format_is_refused() -> None:
    with pytest.raises(fl.SpecError, match=r"`format` \('png'\) must be one of 'text', 'html', 'svg'"):
        PIPELINES["sort"].explain("png")
