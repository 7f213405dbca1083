"""What somebody meets in the first hour: mistakes that used to pass in silence or end in a riddle."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

SALES = [{"ts": 5, "amt": 3}, {"ts": 42, "amt": 4}, {"ts": 61, "amt": 1}]


def sales(source: Any = SALES, **options: Any) -> fl.Stream:
    return fl.stream(source, time="ts", unit="s", **options)


def minutes(source: Any = SALES, **options: Any) -> fl.Windowed:
    return sales(source, **options).window(fl.tumbling("1 minute"))


def generated() -> Iterator[dict[str, int]]:
    yield from SALES


class TestAClock:
    EARLY = fl.at_watermark(early=fl.every("10 s"))

    @pytest.mark.parametrize("trigger", [EARLY, fl.repeat(fl.after_delay("1 s")), fl.every("1 s")], ids=str)
    def test_firings_by_the_clock_without_one_are_refused_when_they_are_declared(self, trigger: fl.Trigger) -> None:
        with pytest.raises(fl.SpecError, match=r'go by the clock, and this source has none.*clock="arrived"'):
            minutes().trigger(trigger).agg(n=fl.count())

    def test_so_are_windows_and_watermarks_by_the_clock(self) -> None:
        with pytest.raises(fl.SpecError, match="these windows go by the clock"):
            sales().window(fl.tumbling("1 minute", domain="processing")).agg(n=fl.count())
        with pytest.raises(fl.SpecError, match="`watermark` stays 1 min behind the clock"):
            minutes(watermark=fl.fixed_distance("1 min")).agg(n=fl.count())

    def test_with_a_clock_they_fire(self) -> None:
        looks = minutes(clock="ts", rows=1, delay="0 s").trigger(self.EARLY).agg(n=fl.count())
        assert [row["pane"]["timing"] for row in looks.table().to_pylist()] == ["EARLY", "ON_TIME", "ON_TIME"]

    def test_by_the_watermark_they_need_none(self) -> None:
        early = fl.at_watermark(early=fl.every("10 s", domain="event"))
        assert minutes().trigger(early).agg(n=fl.count()).spec.needs_clock is False

    def test_whoever_feeds_records_by_hand_has_the_clock(self) -> None:
        operator = minutes([]).trigger(self.EARLY).agg(n=fl.count()).operator()
        operator.add([{"ts": 1}], clock=1_000_000)
        operator.advance(clock=10_000_000)
        assert operator.take()["n"].to_pylist() == [1]

    def test_one_input_with_a_clock_is_enough(self) -> None:
        both = fl.union(a=sales(clock="ts"), b=sales())
        assert both.window(fl.tumbling("1 minute")).trigger(self.EARLY).agg(n=fl.count()).spec.needs_clock


SEVERAL: dict[str, Callable[[], fl.Stream]] = {
    "rows": lambda: sales(rows=1),
    "generator": lambda: sales(generated()),
    "reader": lambda: sales(pa.Table.from_pylist(SALES).to_reader()),
    "batches": lambda: sales([pa.RecordBatch.from_pylist([one]) for one in SALES]),
}


class TestNoDelay:
    @pytest.mark.parametrize("declare", SEVERAL.values(), ids=SEVERAL)
    def test_on_a_source_of_several_bundles_is_warned_of(self, declare: Callable[[], fl.Stream]) -> None:
        with pytest.warns(fl.FanlightWarning, match=r'no `delay` is given.*delay="5 s"; delay="0 s" says') as said:
            declare()
        assert [one.filename for one in said] == [__file__]

    @pytest.mark.parametrize("source", [SALES, pa.Table.from_pylist(SALES), []], ids=["list", "table", "nothing"])
    def test_of_one_bundle_nothing_is_late(self, source: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert sales(source).keys == ()

    def test_who_says_it_means_it(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert sales(rows=1, delay="0 s").watermark == fl.bounded_disorder("0 s")
            assert sales(rows=1, watermark=fl.Explicit()).watermark == fl.Explicit()

    def test_a_list_is_one_bundle_however_long(self) -> None:
        backwards = [{"ts": second, "amt": 1} for second in range(20_000, 0, -1)]
        assert minutes(backwards).agg(n=fl.count()).accounting.dead_letters == 0


class TestOneBundle:
    """All of a list comes at once: what lateness and early firings are for never happens."""

    @pytest.mark.parametrize("source", [SALES, pa.Table.from_pylist(SALES)], ids=["list", "table"])
    def test_lateness_is_warned_of_with_the_remedy(self, source: Any) -> None:
        late = sales(source).window(fl.tumbling("1 minute"), lateness="1 h").agg(n=fl.count())
        with pytest.warns(
            fl.FanlightWarning, match=r"`lateness` \(1 h\) is asked for.*rows=100.*every=\"1 min\""
        ) as said:
            late.table()
        assert len(said) == 1

    def test_so_are_early_firings(self) -> None:
        early = minutes().trigger(fl.at_watermark(early=fl.after(1))).agg(n=fl.count())
        with pytest.warns(fl.FanlightWarning, match="`early` is asked for: all records came as one bundle"):
            list(early)

    @pytest.mark.parametrize(
        "result",
        [
            minutes().agg(n=fl.count()),
            minutes(SALES[:1]).trigger(fl.at_watermark(early=fl.after(1))).agg(n=fl.count()),
            sales(rows=9, delay="0 s").window(fl.tumbling("1 minute"), lateness="1 h").agg(n=fl.count()),
            sales(every="1 min", delay="0 s").window(fl.tumbling("1 minute"), lateness="1 h").agg(n=fl.count()),
            sales(watermark=fl.stream_time()).window(fl.tumbling("1 minute"), lateness="1 h").agg(n=fl.count()),
        ],
        ids=["nothing asked for", "one record", "rows", "every", "record by record"],
    )
    def test_nothing_is_said_where_nothing_is_amiss(self, result: fl.Result) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert result.accounting.dead_letters == 0


MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "5M": (lambda: fl.tumbling("5M"), r"'M' in '5M' may be a month or a minute.*'5 min'"),
    "1 h 5 M": (lambda: fl.Duration.of("1 h 5 M"), r"may be a month or a minute"),
    "1 month": (lambda: fl.tumbling("1 month"), r"'month' in '1 month' has no fixed length.*fl\.calendar\('month'\)"),
    "2 years": (lambda: fl.hopping("2 years", every="1 d"), r"has no fixed length.*fl\.calendar\('year'\)"),
    "P1M": (lambda: fl.tumbling("P1M"), r"fl\.calendar\('month'\)"),
    "top": (lambda: fl.top("amt", "3"), r"Top: `n` \('3'\).* this is text\. Write 3"),  # type: ignore[arg-type]
    "top swapped": (lambda: fl.top(3, "amt"), r"'amt'.*Swap the two"),  # type: ignore[arg-type]
    "top rows": (lambda: minutes().top("3", by="amt"), r"top: `n` \('3'\).*Write 3"),  # type: ignore[arg-type]
    "top by key": (lambda: fl.top_by_key("k", "v", "3"), r"TopByKey: `n` \('3'\)"),  # type: ignore[arg-type]
    "hitters": (lambda: fl.heavy_hitters("k", 1.5), r"this is a float"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("mistake", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_named_with_its_remedy(mistake: Callable[[], object], said: str) -> None:
    with pytest.raises(fl.SpecError, match=said):
        mistake()


def test_minutes_are_still_minutes() -> None:
    assert {fl.Duration.of(text) for text in ("5 m", "5m", "5 min", "5 Min", "PT5M")} == {fl.Duration.of("5 minutes")}


class TestReadTwice:
    def test_a_table_after_an_iteration_says_which_comes_first(self) -> None:
        counts = minutes(generated(), delay="0 s").agg(n=fl.count())
        assert sum(len(batch) for batch in counts) == 2
        with pytest.raises(fl.InputError, match=r"rows that have left an iteration are not kept\. Say table\(\) first"):
            counts.table()

    def test_and_that_works(self) -> None:
        counts = minutes(generated(), delay="0 s").agg(n=fl.count())
        assert len(counts.table()) == sum(len(batch) for batch in counts) == 2


WITHOUT_SPARK = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pyspark":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
import fanlight
import fanlight.spark.session
"""


def test_without_pyspark_the_extra_is_named() -> None:
    """In a process of its own, in which pyspark cannot be found."""
    told = subprocess.run([sys.executable, "-c", WITHOUT_SPARK], capture_output=True, text=True, check=False)
    assert "fanlight.spark needs pyspark, which is not installed here" in told.stderr
    assert "pip install 'fanlight[spark]', or pip install '.[spark]' in a clone" in told.stderr
