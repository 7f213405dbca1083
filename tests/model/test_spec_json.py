"""A spec is plain data: written down and read back it is the same spec, and two of them can be told apart in words."""

from __future__ import annotations

import importlib
import json
import pkgutil
from dataclasses import dataclass, is_dataclass, replace
from enum import Enum

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight import model
from fanlight.model import triggers
from fanlight.model.document_words import WORDS
from fanlight.model.retention import Retention
from fanlight.model.spec import WindowSpec
from fanlight.model.spec_json import differences, from_document, to_document, words
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Combine, Several
from fanlight.model.windows.counting import Scope
from fanlight.model.windows.hopping import Hopping
from fanlight.testing.strategies import specs as strategies

SPEC = WindowSpec(
    time="ts",
    window=fl.hopping("10 minutes", every="10 seconds"),
    aggregates=(("n", fl.count()), ("total", fl.sum("price"))),
    keys=("product",),
    watermark=fl.bounded_disorder("5 seconds"),
)


class Longest(fl.UserAggregate):
    """The length of the longest text."""

    state_type = pa.int64()
    output_type = pa.int64()


@dataclass(frozen=True)
class Scaled(fl.UserAggregate):
    """A sum, scaled by something that JSON cannot write."""

    state_type = pa.float64()
    output_type = pa.float64()
    by: float = 1.0
    curve: object = None


def any_spec() -> st.SearchStrategy[WindowSpec]:
    several = st.builds(
        Several,
        st.lists(strategies.watermarks(), min_size=1, max_size=3).map(
            lambda some: tuple((f"input {place}", one) for place, one in enumerate(some))
        ),
        st.sampled_from(Combine),
        st.none() | strategies.durations(),
        st.integers(-(2**63), 2**63 - 1),
    )
    retention = st.builds(
        Retention, strategies.durations() | st.just(Duration.FOREVER), st.none() | st.integers(1, 9), st.booleans()
    )
    return strategies.specs(
        watermark=strategies.watermarks() | several, retention=st.none() | retention, unit=st.sampled_from(TimeUnit)
    )


@given(any_spec())
def test_what_is_written_down_is_read_back_exactly(spec: WindowSpec) -> None:
    text = json.dumps(to_document(spec), allow_nan=False)
    read = from_document(json.loads(text))
    assert read == spec
    assert repr(read) == repr(spec)  # 1, True and 1.0 are equal, and not the same


@given(any_spec(), any_spec())
def test_two_specs_differ_in_words_exactly_if_they_differ(one: WindowSpec, other: WindowSpec) -> None:
    told = differences(to_document(one), to_document(other))
    assert bool(told) == (one != other)
    for line in told:
        before, now = line.split(": ", 1)[1].removesuffix(" now").split(" before, ")
        assert before != now, line


def test_every_value_of_the_model_can_be_written_down() -> None:
    """A kind of window or trigger that somebody adds is a document too, without a case of its own."""
    everywhere = pkgutil.walk_packages(model.__path__, f"{model.__name__}.")
    modules = [importlib.import_module(found.name) for found in everywhere]
    used = {
        name
        for module in modules
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and kind.__module__ == module.__name__
        and (is_dataclass(kind) or issubclass(kind, Enum))
    }
    # a dead letter's reason, and what is answered about two rows, are no part of a spec
    assert used - {"Reason", "Why", "JoinVerdict"} == set(WORDS)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"window": fl.hopping("10 minutes", every="20 seconds")},
            "window: hopping 10 min every 10 s before, hopping 10 min every 20 s now",
        ),
        ({"window": fl.global_window()}, "window: hopping 10 min every 10 s before, global now"),
        ({"keys": ()}, "keys: product before, none now"),
        ({"keys": ("product", "shop no.")}, "keys: product before, product, 'shop no.' now"),
        ({"lateness": Duration.of("90 s")}, "lateness: 0 s before, 90 s now"),
        ({"aggregates": (("n", fl.count()),)}, "aggregates.total: sum price before, none now"),
        (
            {"aggregates": SPEC.aggregates[::-1]},
            "n = count, total = sum price before, total = sum price, n = count now",
        ),
        ({"updated_only": True}, "updated only: no before, yes now"),
        ({"accumulation": fl.Accumulation.RETRACTING}, "accumulation: accumulating before, retracting now"),
        (
            {"trigger": fl.at_watermark(early=fl.any_of(fl.every("5 s"), fl.after(9)), late=None)},
            "at watermark late (after 1) before, at watermark early (any of [every 5 s, after 9]) late none now",
        ),
        ({"semantics": fl.Semantics(refires=False, earliest_start=0)}, "now"),
        ({"aggregates": (*SPEC.aggregates, ("q", fl.quantile("price", 0.9)))}, "none before, quantile price q 0.9 now"),
        ({"aggregates": (*SPEC.aggregates, ("l", Longest("name")))}, "Longest name state int64 output int64 now"),
    ],
)
def test_a_change_is_told_in_the_words_it_was_declared_in(changed: dict[str, object], told: str) -> None:
    (line,) = differences(to_document(SPEC), to_document(replace(SPEC, **changed)))  # type: ignore[arg-type]
    assert told in line


def test_what_is_as_usual_is_not_mentioned() -> None:
    assert words(to_document(fl.Semantics())) == "semantics"
    assert words(to_document(fl.Semantics(refires=False, earliest_start=0))) == "semantics not refires earliest start 0"


def test_a_users_aggregate_is_named_and_cannot_be_read_back() -> None:
    spec = replace(SPEC, aggregates=(("longest", Longest("name")),))
    document = json.loads(json.dumps(to_document(spec)))
    with pytest.raises(fl.SpecError, match=r"Longest is made of Python code.*Give the pipeline itself"):
        from_document(document)


@pytest.mark.parametrize(
    "aggregate",
    [
        fl.sorted("v", descending=True),
        fl.distinct("v"),
        fl.mode("v"),
        fl.join_text("v", " | "),
        fl.histogram("v", [1, 2.5]),
        fl.weighted_avg("v", "w"),
        fl.arg_min("v", by="w"),
        fl.arg_max("v", by="w"),
        fl.top_by_key("k", "v", 3),
        fl.approx_count_distinct("v"),
        fl.approx_quantile("v", 0.25),
        fl.heavy_hitters("v", 3),
        fl.composite(n=fl.count(), best=fl.composite(most=fl.max("v"), where=fl.arg_max("k", by="v"))),
    ],
    ids=lambda aggregate: type(aggregate).__name__,
)
def test_every_accumulation_is_read_back_exactly(aggregate: fl.Aggregate) -> None:
    spec = replace(SPEC, aggregates=(("a", aggregate),))
    assert from_document(json.loads(json.dumps(to_document(spec)))) == spec


def test_a_users_function_is_named_and_cannot_be_read_back() -> None:
    before, now = fl.fold("v", 0, max, pa.int64()), fl.fold("v", 0, min, pa.int64(), merge=min)
    (line,) = differences({"a": to_document(before)}, {"a": to_document(now)})
    assert "UserFold v start 0 function max joins none state int64 output int64 before" in line
    assert "UserFold v start 0 function min joins min state int64 output int64 now" in line
    for aggregate in (before, fl.reduce("v", max), fl.composite(a=fl.count(), b=fl.reduce("v", max))):
        with pytest.raises(fl.SpecError, match="is made of Python code"):
            from_document(to_document(aggregate))


def test_a_users_aggregate_is_written_alike_in_every_process() -> None:
    """An address in memory would make every restart look like a change."""
    one, other = to_document(Scaled("v", 2.0, object())), to_document(Scaled("v", 2.0, object()))
    assert one == other
    (line,) = differences({"a": one}, {"a": to_document(Scaled("v", 3.0))})
    assert "Scaled v by 2.0 curve object state double output double before" in line
    assert "Scaled v by 3.0 curve none state double output double now" in line


def test_a_document_of_a_newer_fanlight_is_refused_by_name() -> None:
    document = to_document(SPEC)
    with pytest.raises(fl.SpecError, match="has no 'Spiral'"):
        from_document({**document, "window": {"is": "Spiral", "gap": 30}})
    with pytest.raises(fl.SpecError, match="WindowSpec has no field colour"):
        from_document({**document, "colour": "blue"})


def test_a_field_that_is_not_there_yet_is_as_usual() -> None:
    document = to_document(SPEC)
    del document["window"]["gaps"]
    assert from_document(document) == SPEC


def test_what_is_no_value_of_the_model_is_not_written_down() -> None:
    @dataclass(frozen=True)
    class FullMoon(triggers.Trigger):
        """Nobody else knows this trigger."""

    with pytest.raises(fl.SpecError, match="is a FullMoon, which the model does not have"):
        to_document(replace(SPEC, trigger=FullMoon()))
    with pytest.raises(fl.SpecError, match="no value of the model"):
        to_document(float("nan"))


def test_a_function_is_named() -> None:
    assert words(to_document(Hopping.__post_init__)) == "Hopping.__post_init__"


class TestWords:
    """Documents on disk outlive the names of classes."""

    @pytest.mark.parametrize("value", [fl.hopping("10 min", every="1 min"), fl.after(2), Scope.KEY], ids=repr)
    def test_a_renamed_class_is_written_down_and_read_as_before(self, value: object) -> None:
        before, kind = to_document(value), type(value)
        name = kind.__name__
        try:
            kind.__name__ = kind.__qualname__ = "Renamed"
            assert to_document(value) == before
            assert from_document(before) == value
        finally:
            kind.__name__ = kind.__qualname__ = name

    def test_each_class_has_one_word(self) -> None:
        assert len(set(WORDS.values())) == len(WORDS)


@dataclass(frozen=True)
class Shifts(fl.WindowKind):
    """Shifts of a factory: a user's own windows."""

    length: Duration
    starts: tuple[Duration, ...] = ()
    hall: str = "A"


class TestKindsOfUsers:
    def test_one_is_named_and_its_fields_are_told(self) -> None:
        kind = Shifts(Duration.of("8 h"), (Duration.of("6 h"),))
        assert to_document(kind) == {
            "is": "user",
            "name": "Shifts",
            "length": {"is": "Duration", "micros": 28_800_000_000},
            "starts": [{"is": "Duration", "micros": 21_600_000_000}],
            "hall": "A",
        }

    def test_two_that_differ_are_told_apart(self) -> None:
        before, now = (replace(SPEC, window=Shifts(Duration.of(length))) for length in ("8 h", "6 h"))
        assert differences(to_document(before), to_document(now)) == [
            "window: Shifts length 8 h starts [none] hall A before, Shifts length 6 h starts [none] hall A now"
        ]

    def test_one_is_not_read_back(self) -> None:
        with pytest.raises(fl.SpecError, match="Shifts is made of Python code"):
            from_document(to_document(Shifts(Duration.of("8 h"))))

    def test_one_without_fields_is_refused(self) -> None:
        class Bare(fl.WindowKind):
            pass

        with pytest.raises(fl.SpecError, match="Make it a frozen dataclass"):
            to_document(Bare())
