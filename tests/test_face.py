"""What users meet first: how pipelines print, what they answer to, and what is said of a mistake."""

from __future__ import annotations

import importlib.metadata
import inspect
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import fanlight as fl
from fanlight.cli.main import app
from fanlight.spark.write import write

SECRET = "tea, bought by Ada"
SALES = pa.table({"ts": pa.array([5], pa.timestamp("s", "UTC")), "product": [SECRET], "price": [7]})
STREAM = fl.stream(SALES, time="ts", delay="5 s").key_by("product")
WINDOWED = STREAM.window(fl.hopping("10 minutes", every="1 minute"), lateness="1 hour")
PIPELINE = WINDOWED.agg(n=fl.count(), revenue=fl.sum("price"))
PIPELINE_ONCE = STREAM.window(fl.tumbling("10 minutes")).agg(n=fl.count())
IN_ORDER = STREAM.sort("price")


# ── how they print ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "said", [STREAM, WINDOWED, PIPELINE, PIPELINE_ONCE.rewindow(), STREAM.origin, IN_ORDER], ids=lambda s: type(s)
)
def test_what_is_printed_describes_the_pipeline_and_never_its_data(said: object) -> None:
    assert SECRET not in repr(said)
    assert "a Table of `ts`, `product`, `price`" in repr(said)


def test_a_stream_says_what_it_reads_and_how_it_is_keyed() -> None:
    assert repr(STREAM) == "<fanlight stream over a Table of `ts`, `product`, `price`, time `ts`, by `product`>"
    assert repr(WINDOWED).endswith("windows hopping 10 min every 1 min: say agg(…) to complete it>")


def test_explain_tells_of_every_stage() -> None:
    """The stage that groups results again stands below the one it reads."""
    once = STREAM.window(fl.tumbling("1 minute")).agg(n=fl.count())
    first, second = once.rewindow().agg(best=fl.max("n")).explain().split("\n\n")
    assert first == once.explain()
    assert "reads      the results of the stage before" in second


def test_explain_tells_of_a_sort() -> None:
    assert IN_ORDER.explain().splitlines() == [
        "runs       in this process, in one shard",
        "reads      a Table of `ts`, `product`, `price`",
        "keys       `product`",
        "time       `ts`, event time; more than 1 d ahead of the clock is a dead letter",
        "watermark  5 s behind the greatest time seen",
        "order      by time, then by `price`, then as they came; the rows of a shard, and so of a key, in one order",
        "fires      each row once, when the watermark has passed it",
        "gives      the columns that came",
        "keeps      the rows that the watermark has not passed",
    ]
    assert "as they came; all rows in one order" in STREAM.sort(order="total").explain()


@pytest.mark.parametrize(
    ("windowed", "kept"),
    [
        (STREAM.window(fl.tumbling("1 minute")), "partial aggregates by slice, until the last window"),
        (WINDOWED, "partial aggregates by slice"),
        (WINDOWED.retracting(), "a row for each pane (key and window), until its window has expired"),
        (STREAM.window(fl.session("1 minute")), "a row for each session, until it has expired"),
        (STREAM.window(fl.sliding("1 minute")), "the records of each key as partials"),
        (STREAM.window(fl.counting(3)), "a row for each pane"),
        (STREAM.window(fl.tumbling("1 minute"), lateness="forever"), "never does: this grows"),
        (
            STREAM.window(fl.tumbling("1 minute"), retention=fl.retention("1 day", messages=True)),
            "the records themselves",
        ),
    ],
    ids=str,
)
def test_explain_says_what_is_kept(windowed: fl.Windowed, kept: str) -> None:
    (line,) = [line for line in windowed.agg(n=fl.count()).explain().splitlines() if line.startswith("keeps")]
    assert kept in line


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        (fl.bounded_disorder("5 s"), "5 s behind the greatest time seen"),
        (fl.stream_time(), "0 s behind the greatest time seen, record by record"),
        (fl.fixed_distance("1 min"), "1 min behind the clock"),
        (fl.Explicit(), "as the caller says"),
        (
            fl.several({"a": fl.Explicit(), "b": fl.fixed_distance("1 s")}),
            "the least of a (as the caller says), b (1 s",
        ),
    ],
    ids=str,
)
def test_explain_says_how_the_watermark_follows(strategy: Any, said: str) -> None:
    stream = fl.stream(SALES, time="ts", watermark=strategy, clock="ts")
    assert f"watermark  {said}" in stream.window(fl.tumbling("1 minute")).agg(n=fl.count()).explain()


# ── what they answer to ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("pipeline", [PIPELINE, IN_ORDER], ids=["windows", "sort"])
@pytest.mark.parametrize("name", ["df", "accounts"])
def test_what_only_spark_has_is_no_attribute_in_this_process(pipeline: fl.RowResult[Any], name: str) -> None:
    assert not hasattr(pipeline, name)
    with pytest.raises(fl.OtherEngine, match=f"{name}: this pipeline reads no Spark DataFrame"):
        getattr(pipeline, name)
    assert issubclass(fl.OtherEngine, fl.SpecError)


def test_write_to_names_its_options_as_the_writer_has_them() -> None:
    """The one that users see, and the one that does it."""
    seen, done = (inspect.signature(f).parameters for f in (fl.Result.write_to, write))
    assert [*seen][1:] == [*done][1:]
    assert {name: one.default for name, one in seen.items() if name != "self"} == {
        name: one.default for name, one in done.items() if name != "run"
    }


def test_the_version_is_that_of_the_package() -> None:
    version = importlib.metadata.version("fanlight")
    assert fl.__version__ == version
    said = CliRunner().invoke(app, ["--version"])
    assert (said.exit_code, said.output) == (0, f"fanlight {version}\n")


# ── what is said of a mistake ────────────────────────────────────────────────────────────────────────────────────


def anything(value: object) -> Any:
    """A value that the type checker would not let through."""
    return value


@pytest.mark.parametrize(
    ("mistake", "said"),
    [
        (
            lambda: STREAM.key_by(anything(["shop", "product"])),
            r"key_by: .* is a list.* Write key_by\('shop', 'product'\)",
        ),
        (lambda: STREAM.sort(anything(["price", "ts"])), r"sort: .* is a list.* Write sort\('price', 'ts'\)"),
        (lambda: STREAM.sort(order=anything("price")), r"sort: `order` \('price'\).* 'shard', or 'total'"),
        (lambda: STREAM.sort("ts"), r"sort: 'ts' is the time.* Leave it out"),
        (lambda: STREAM.key_by(anything(3)), r"key_by: 3 is a int, not the name of a column"),
        (lambda: PIPELINE_ONCE.rewindow().key_by(anything(["n"])), r"Write key_by\('n'\)"),
        (
            lambda: STREAM.window(anything("1 minute")),
            r"window: '1 minute' is no kind of window.* window\(tumbling\('1 minute'\)\)",
        ),
        (lambda: STREAM.window(anything(fl.tumbling)), r"is no kind of window"),
        (lambda: WINDOWED.trigger(anything("early")), r"trigger: 'early' is no trigger\. Use one"),
        (lambda: WINDOWED.agg(n=anything(fl.count)), r"agg: n=.* is not an aggregate\. It is a function: call it"),
        (lambda: fl.top("price", anything("3")), r"Top: `n` \('3'\) must be a whole number from 1 up"),
    ],
)
def test_a_wrong_argument_is_named_with_the_right_one(mistake: Any, said: str) -> None:
    with pytest.raises(fl.SpecError, match=said):
        mistake()


@pytest.mark.parametrize(
    ("given", "name", "said"),
    [
        (STREAM, "agg", r"A stream has no 'agg': say window\(…\) first, as in .*\.agg\(…\)"),
        (STREAM, "trigger", r"say window\(…\) first"),
        (STREAM, "flatten", r"A stream has no 'flatten'\.$"),
        (WINDOWED, "key_by", r"A windowed stream has no 'key_by': say key_by\(…\) before window\(…\)"),
        (WINDOWED, "sort", r"A windowed stream has no 'sort': say sort\(…\) in the place of window\(…\) and agg\(…\)"),
        (WINDOWED, "table", r"A windowed stream has no 'table': say agg\(…\) first, as in agg\(n=count\(\)\)\.table"),
        (WINDOWED, "flatten", r"A windowed stream has no 'flatten'\.$"),
    ],
)
def test_calls_in_the_wrong_order_say_the_right_one(given: object, name: str, said: str) -> None:
    with pytest.raises(AttributeError, match=said):
        getattr(given, name)
