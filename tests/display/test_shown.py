"""What a person sees of a pipeline, and what is never done unasked."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.kernels.flat import flat

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SALES = [{"ts": ts, "shop": shop, "price": ts} for ts, shop in [(2, "a"), (7, "<b>"), (12, "a"), (9, "a")]]


def sales(source: Any = SALES, **options: Any) -> fl.Stream:
    return fl.stream(source, time="ts", unit="s", delay="0 s", **options).key_by("shop")


def totals(source: Any = SALES, **options: Any) -> fl.Result:
    return sales(source, **options).window(fl.tumbling("10 s")).agg(total=fl.sum("price"))


def page(shown: Any) -> str:
    """What a notebook asks for."""
    (html,) = [getattr(shown, name)() for name in ("_repr_html_",)]
    assert isinstance(html, str)
    return html


class TestFlat:
    def test_a_struct_is_a_column_for_each_field(self) -> None:
        result = sales(rows=1).window(fl.tumbling("10 s"), lateness="1 min").agg(total=fl.sum("price"))
        assert [name for name in flat(result.table()).schema.names if "_" in name] == [
            *("window_start", "window_end", "pane_op", "pane_timing"),
            *(f"pane_{field.name}" for field in list(result.table().schema.field("pane").type)[2:]),
        ]

    def test_structs_in_structs_are_opened_and_lists_are_not(self) -> None:
        nested = pa.table({"a": [{"b": {"c": 1}, "d": [{"e": 2}]}], "n": [None]})
        assert flat(nested).to_pydict() == {"a_b_c": [1], "a_d": [[{"e": 2}]], "n": [None]}

    def test_a_null_struct_has_null_fields(self) -> None:
        nested = pa.table({"a": pa.array([{"b": 1}, None], pa.struct({"b": pa.int64()}))})
        assert flat(nested).to_pydict() == {"a_b": [1, None]}

    def test_a_name_that_is_taken_gets_an_underscore(self) -> None:
        assert flat(pa.table({"w": [{"s": 1}], "w_s": [2]})).to_pydict() == {"w_s_": [1], "w_s": [2]}

    def test_pandas_and_polars_have_the_same_columns_and_no_dict(self) -> None:
        frame, lazy = totals().to_pandas(), totals().to_polars()
        assert isinstance(frame, pd.DataFrame)
        assert isinstance(lazy, pl.DataFrame)
        assert list(frame.columns) == lazy.columns == ["shop", "window_start", "window_end", "total"]
        assert frame["window_start"].dt.second.tolist() == [0, 0, 10]

    def test_without_polars_the_extra_is_named(self) -> None:
        code = (
            "import sys; sys.modules['polars'] = None\n"
            "import fanlight as fl\n"
            "fl.stream([{'ts': 1}], time='ts', unit='s').sort().to_polars()\n"
        )
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "to_polars needs polars, which is not installed here" in told.stderr
        assert "pip install 'fanlight[polars]'" in told.stderr


class TestShow:
    def test_rows_are_lines_under_their_names(self, capsys: pytest.CaptureFixture[str]) -> None:
        totals().show()
        assert capsys.readouterr().out.splitlines() == [
            "shop  window_start         window_end           total",
            "<b>   1970-01-01 00:00:00  1970-01-01 00:00:10      7",
            "a     1970-01-01 00:00:00  1970-01-01 00:00:10     11",
            "a     1970-01-01 00:00:10  1970-01-01 00:00:20     12",
            "3 rows",
        ]

    def test_no_more_than_asked_for(self, capsys: pytest.CaptureFixture[str]) -> None:
        totals().show(1)
        assert capsys.readouterr().out.splitlines()[2:] == ["first 1 of 3 rows"]

    def test_what_is_long_or_wide_stays_in_its_column(self, capsys: pytest.CaptureFixture[str]) -> None:
        came = [{"ts": NOON, "word": "x" * 90}, {"ts": NOON, "word": "日本"}, {"ts": NOON, "word": None}]
        fl.stream(came, time="ts").sort().show()
        _, long, wide, null, _ = capsys.readouterr().out.splitlines()
        assert long.endswith("x…")
        assert wide.endswith("日本")
        assert null.endswith("null")


class TestPage:
    def test_a_result_shows_its_plan_rows_and_picture(self) -> None:
        html = page(totals())
        assert ">tumbling 10 s</dd>" in html
        assert re.findall(r"<th [^>]*>([^<]*)<", html) == ["shop", "window_start", "window_end", "total"]
        assert "&lt;b&gt;" in html
        assert '<td style="padding:2px 10px;text-align:left;white-space:nowrap"><b>' not in html
        [data] = re.findall(r'base64,([^"]+)"', html)
        assert "total=11" in base64.b64decode(data).decode()

    def test_the_picture_follows_the_theme_of_the_notebook(self) -> None:
        html = page(totals())
        assert '[data-jp-theme-light="false"] .fanlight' in html
        assert html.startswith('<div class="fanlight"')

    def test_looking_changes_nothing(self) -> None:
        result = totals()
        assert page(result) == page(result)
        result.on_dead_letters(lambda letters: None)  # it could not be said of a run that has begun
        assert sum(len(rows) for rows in result) == 3

    @pytest.mark.parametrize("shown", [sales(), sales().window(fl.tumbling("10 s"))], ids=["stream", "windowed"])
    def test_what_is_not_complete_shows_what_it_is(self, shown: Any) -> None:
        assert "fanlight stream over a list" in page(shown)
        assert "<table" not in page(shown)

    def test_what_is_read_once_is_not_read(self) -> None:
        read: list[int] = []

        def generated() -> Iterator[dict[str, Any]]:
            for record in SALES:
                read.append(record["ts"])
                yield record

        result = totals(generated())
        assert "Say show() for the rows" in page(result)
        assert read == []
        assert len(result.table()) == 3

    def test_nor_is_a_clock_asked_or_a_function_told(self) -> None:
        moments = iter([NOON])
        clocked = totals(clock=lambda: next(moments))
        assert "<table" not in page(clocked)
        assert len(clocked.table()) == 3
        heard: list[pa.Table] = []
        assert "<table" not in page(totals([{"ts": None, "shop": "a", "price": 1}]).on_dead_letters(heard.append))
        assert heard == []

    def test_many_records_are_not_run_unasked(self) -> None:
        many = pa.table({"ts": range(100_001), "shop": ["a"] * 100_001, "price": range(100_001)})
        assert "<table" not in page(totals(many))

    def test_a_pipeline_that_cannot_be_drawn_has_no_picture(self) -> None:
        """Records that are prepared and judged one by one are drawn by nothing."""
        stream = fl.stream(SALES, time="ts", unit="s", watermark=fl.stream_time()).where(fl.col("price") > 0)
        html = page(stream.sort())
        assert "<table" in html
        assert "<img" not in html

    def test_stages_and_unions_are_shown_too(self) -> None:
        most = totals().window(fl.tumbling("1 min")).agg(most=fl.max("total"))
        both = fl.union(
            a=fl.stream(SALES, time="ts", unit="s"), b=fl.stream(SALES, time="ts", unit="s")
        ).window(fl.tumbling("1 min")).agg(n=fl.count())  # fmt: skip
        assert "<img" in page(most)
        assert "<img" in page(both)
