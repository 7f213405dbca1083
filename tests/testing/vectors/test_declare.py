"""How the fields of a vector are read: rules over the format, whatever the case is called."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fanlight.errors import VectorError
from fanlight.model.aggregates import Avg, Count, CountDistinct, Listed, Max, Quantile, Sum, Variance
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.semantics import Closing, OnTime, Semantics
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Explicit, Several, WatermarkStrategy
from fanlight.model.triggers import (
    After,
    AfterDelay,
    AllOf,
    AnyOf,
    AtExpiry,
    AtWatermark,
    Every,
    InOrder,
    Never,
    OnSignal,
    Repeat,
    Trigger,
    Until,
    samza_policies,
)
from fanlight.model.windows.counting import Counting, Scope
from fanlight.model.windows.cumulating import Cumulating
from fanlight.model.windows.custom import Custom
from fanlight.model.windows.global_window import Global
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Anchor, Sliding
from fanlight.model.windows.tumbling import Tumbling
from fanlight.testing.vectors import Status, Vector, replay
from fanlight.testing.vectors.columns import Columns
from fanlight.testing.vectors.declare import declare
from fanlight.testing.vectors.derived import GapRule

SECOND = Duration(1_000_000)
PEERS = [
    ("apache/beam", "sdks/python/apache_beam/transforms/trigger_test.py", "beam_python"),
    ("apache/beam", "runners/core-java/src/test/java/ReduceFnRunnerTest.java", "beam"),
    ("apache/flink", "", "flink"),
    ("apache/apex-malhar", "", "malhar"),
    ("apache/samza", "", "samza"),
    ("apache/spark", "", "spark"),
    ("risingwavelabs/risingwave", "", "risingwave"),
    ("apache/kafka", "", "kafka"),
    ("seeds", "", "fanlight"),
]


def vector(repo: str = "seeds", path: str = "", op: str = "window_agg", **fields: Any) -> Vector:
    return Vector("a case", op, repo, path, {"window": {"kind": "fixed", "size": 1000}, "agg": "sum", **fields})


@pytest.mark.parametrize(("repo", "path", "preset"), PEERS)
def test_a_case_has_the_semantics_of_its_peer(repo: str, path: str, preset: str) -> None:
    assert declare(vector(repo, path)).semantics == Semantics.named(preset)


def test_a_case_may_answer_for_itself() -> None:
    window = {"kind": "fixed", "size": 1000, "min_start": 5}
    case = vector("apache/beam", closing="fire_always", on_time="fire_if_non_empty", window=window)
    semantics = declare(case).semantics
    assert (semantics.closing, semantics.on_time, semantics.earliest_start) == (Closing.ALWAYS, OnTime.IF_NEW, 5_000)


def test_windows() -> None:
    def declared(**window: Any) -> Any:
        return declare(vector(window=window)).window

    assert declared(kind="fixed", size=1000, offset=-1) == Tumbling(SECOND, Duration(-1_000))
    assert declared(kind="sliding", size=1000, slide=1) == Hopping(SECOND, Duration(1_000))
    assert declared(kind="sliding", size=1, slide=1000) == Hopping(Duration(1_000), SECOND, gaps=True)
    assert declared(kind="global", time="processing") == Global(TimeDomain.PROCESSING)
    assert declared(kind="cumulate", size=1000, step=500, offset=1) == Cumulating(
        SECOND, Duration(500_000), Duration(1_000)
    )
    assert declared(kind="session", gap=1000, time="processing") == Session(SECOND, domain=TimeDomain.PROCESSING)
    assert declared(kind="session", gap="dynamic", gap_rule="a: 5", merge_touching=True) == Session(
        gap_from="gap_ms", touching=True
    )
    assert declared(kind="sliding_kafka", diff=1000) == Sliding(SECOND, Anchor.BOTH)
    assert declared(kind="sliding_forward", diff=1000) == Sliding(SECOND, Anchor.FORWARD)
    assert declared(kind="count_tumbling", size=3) == Counting(3, 3, Scope.STREAM)


def test_positions_are_counted_for_each_key_where_there_is_one() -> None:
    case = vector(key=True, window={"kind": "count_sliding", "size": 4, "slide": 2})
    assert declare(case).window == Counting(4, 2, Scope.KEY)


def test_an_unlimited_window_starts_and_does_not_end() -> None:
    window = declare(vector(window={"kind": "unlimited", "start": 10})).window
    assert isinstance(window, Custom)
    rows, starts, ends = window.assign(np.array([9_000, 10_000, 11_000]), None)
    assert (rows.tolist(), starts.tolist(), ends.tolist()) == ([1, 2], [10_000] * 2, [END_OF_TIME] * 2)


@pytest.mark.parametrize(("repo", "path", "preset"), PEERS)
def test_sessions_one_gap_apart_merge_where_they_do_at_the_peer(repo: str, path: str, preset: str) -> None:
    window = declare(vector(repo, path, window={"kind": "session", "gap": 5})).window
    assert window == Session(Duration(5_000), touching=preset in ("flink", "kafka", "spark"))


def test_kafkas_store_keeps_sessions_past_grace() -> None:
    def lateness(**fields: Any) -> Duration:
        return declare(vector("apache/kafka", window={"kind": "session", "gap": 5}, lateness_ms=7, **fields)).lateness

    assert lateness().is_forever
    assert lateness(emit="on_update").is_forever
    assert lateness(emit="on_close") == Duration(7_000)
    assert lateness(emit="on_update", dropped=[{"after": 0, "count": 1}]) == Duration(7_000)


def test_a_gap_comes_from_a_rule() -> None:
    window = {"kind": "session", "gap": "dynamic", "gap_rule": "a: 3000; b: 1000 if v == 10 else v * 2; else -5"}
    steps = [{"in": [{"k": k, "v": v, "ts": 0} for k, v in (("a", 1), ("b", 10), ("b", 4), ("c", 1), (None, 1))]}]
    case = vector(key=True, window=window, steps=steps)
    columns = Columns.of(case, declare(case))
    assert columns.batch(case.records).column("gap_ms").to_pylist() == [3000, 1000, 8, -5, -5]


@pytest.mark.parametrize(
    ("rule", "gaps"),
    [("5", [5, 5]), ("else: 7", [7, 7]), ("a: 1", [1, None]), ("v if v > 1 and k == 'a' else 9", [9, 9])],
)
def test_gap_rules(rule: str, gaps: list[int | None]) -> None:
    assert [GapRule.read(rule)({"k": k, "v": 1}) for k in "ab"] == gaps


@pytest.mark.parametrize("rule", ["a: 1 +", "a: print(1)", "[1]"])
def test_a_gap_rule_that_says_more_is_refused(rule: str) -> None:
    with pytest.raises(VectorError, match="gap_rule"):
        GapRule.read(rule)({"k": "a"})


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("default", AtWatermark(late=After(1))),
        ("never", Never()),
        ("manual", OnSignal()),
        ({"count": 3}, After(3)),
        ({"processing_delay": 1000}, AfterDelay(SECOND)),
        ({"after_watermark": {}}, AtWatermark(late=None)),
        ({"after_watermark": None}, AtWatermark(late=None)),
        ({"after_watermark": {"early": {"count": 2}, "late": {"count": 1}}}, AtWatermark(After(2), After(1))),
        ({"repeat": {"count": 2}}, Repeat(After(2))),
        ({"any": [{"count": 2}, "never"]}, AnyOf((After(2), Never()))),
        ({"all": [{"count": 2}, "never"]}, AllOf((After(2), Never()))),
        ({"each": [{"count": 2}, {"count": 3}]}, InOrder((After(2), After(3)))),
        ({"or_finally": [{"count": 2}, "never"]}, Until(After(2), Never())),
        ({"continuous_event_time": 1000}, AtWatermark(Every(SECOND, TimeDomain.EVENT), After(1))),
        ({"continuous_processing_time": 1000}, AtWatermark(Every(SECOND), After(1))),
        ({"early": {"repeat": {"count": 2}}, "default": True}, samza_policies(early=Repeat(After(2)), late=None)),
        ({"early": {"every_processing": 1000}}, AtWatermark(Every(SECOND), Never())),
        ({"early": {"every_count": 2}, "late": {"every_count": 1}}, AtWatermark(After(2), After(1))),
        ({"early": {"every_processing": 1000}, "only_updated_panes": True}, AtWatermark(Every(SECOND), Never())),
    ],
)
def test_triggers(written: Any, read: Trigger) -> None:
    assert declare(vector(trigger=written)).trigger == read


def test_only_updated_panes() -> None:
    assert declare(vector(trigger={"early": {"every_count": 1}, "only_updated_panes": True})).updated_only
    assert not declare(vector(trigger="default")).updated_only


@pytest.mark.parametrize(
    ("emit", "trigger"),
    [
        (None, AtWatermark()),
        ("on_update", Repeat(After(1))),
        ("on_update_per_batch", Repeat(After(1))),
        ("on_close", AtExpiry()),
        ("append", AtExpiry()),
        ({"on": "on_close", "interval_ms": 5}, AtExpiry()),
        ({True: "on_close"}, AtExpiry()),
        ("complete", Never()),
    ],
)
def test_without_a_trigger_the_way_it_emits_is_one(emit: Any, trigger: Trigger) -> None:
    assert declare(vector(emit=emit)).trigger == trigger


def test_a_count_window_spelled_as_a_trigger_fires_when_it_is_full() -> None:
    def declared(count: int, **window: Any) -> Trigger:
        return declare(vector(trigger={"repeat": {"count": count}}, window=window)).trigger

    assert declared(2, kind="count_sliding", size=4, slide=2) == AtWatermark()
    assert declared(4, kind="count_tumbling", size=4) == AtWatermark()
    assert declared(3, kind="count_tumbling", size=4) == Repeat(After(3))


def test_merged_sessions_are_taken_back_where_every_update_leaves() -> None:
    session = {"kind": "session", "gap": 5}
    assert declare(vector(window=session, emit="on_update")).accumulation is Accumulation.RETRACTING
    assert declare(vector(window=session, emit="on_close")).accumulation is Accumulation.ACCUMULATING
    assert (
        declare(vector(window=session, emit="on_update", mode="accumulating")).accumulation is Accumulation.ACCUMULATING
    )
    assert declare(vector(emit="on_update")).accumulation is Accumulation.ACCUMULATING


def test_lateness() -> None:
    assert declare(vector()).lateness == Duration(0)
    assert declare(vector(lateness_ms=5)).lateness == Duration(5_000)
    assert declare(vector(lateness_ms="inf")).lateness.is_forever
    assert declare(vector(lateness_ms=5, emit="complete")).lateness.is_forever
    assert (
        declare(vector(lateness_ms=5, window={"kind": "fixed", "size": 1, "time": "processing"})).lateness.micros == 0
    )


def test_modes_and_firing_times() -> None:
    spec = declare(vector(mode="retracting", ts_combiner="earliest"))
    assert (spec.accumulation, spec.firing_time) == (Accumulation.RETRACTING, FiringTime.EARLIEST)
    assert (declare(vector()).accumulation, declare(vector()).firing_time) == (
        Accumulation.ACCUMULATING,
        FiringTime.END,
    )


@pytest.mark.parametrize(
    ("policy", "strategy"),
    [
        (None, Explicit()),
        ("explicit", Explicit()),
        ({"kind": "stream_time"}, BoundedDisorder(Duration(0), per_record=True)),
        ({"kind": "max_minus", "delay": 1000, "update": "per_record"}, BoundedDisorder(SECOND, per_record=True)),
        ({"kind": "max_minus", "delay": 1000, "update": "per_step"}, BoundedDisorder(SECOND)),
        ({"kind": "explicit_per_side"}, Several((("L", Explicit()), ("R", Explicit())))),
        (
            {"kind": "max_minus", "delay": {"L": 0, "R": 1000}, "combine": "max", "initial": 7},
            Several((("L", BoundedDisorder(Duration(0))), ("R", BoundedDisorder(SECOND))), Combine.MAX, initial=7_000),
        ),
    ],
)
def test_watermark_policies(policy: Any, strategy: WatermarkStrategy) -> None:
    assert declare(vector(watermark_policy=policy)).watermark == strategy


def test_an_interval_holds_the_stream_time_back() -> None:
    case = vector(watermark_policy={"kind": "stream_time"}, emit={"on": "on_close", "interval_ms": 1000})
    assert declare(case).watermark == BoundedDisorder(Duration(0), per_record=True, every=SECOND)


def test_aggregates() -> None:
    assert declare(vector(agg="list")).aggregates == (("v", Listed("v", by_arrival=True)), ("n", Count()))
    named = ["n=count(*)", "total=sum(dec)", "nd=count(distinct s)", "median(ts)"]
    assert declare(vector(agg=named)).aggregates == (
        ("n", Count()),
        ("total", Sum("dec")),
        ("nd", CountDistinct("s")),
        ("median(ts)", Quantile("ts")),
    )


def test_aggregates_over_times_are_in_seconds_where_rows_say_so() -> None:
    rows = [{"mean_s": 1.5, "var_s": 0}]
    steps = [{"in": [{"ts": 1000}, {"ts": 1500}]}]
    case = vector(agg=["mean(ts)", "var_samp(ts)", "max(ts)"], steps=steps, expect=[{"after": 0, "rows": rows}])
    assert declare(case).aggregates == (
        ("mean_s", Avg("ts_s")),
        ("var_s", Variance("ts_s")),
        ("max(ts)", Max("ts")),
        ("n", Count()),
    )
    columns = Columns.of(case, declare(case))
    assert columns.batch(case.records).column("ts_s").to_pylist() == [1.0, 1.5]


def test_all_bundles_have_one_schema() -> None:
    steps = [
        {"in": [{"ts": 1, "v": 1.25, "x": 1.5, "s": None, "b": True}]},
        {"in": [{"ts": 2, "v": 2, "s": "a", "side": "L"}]},
    ]
    case = vector(key=True, steps=steps)
    columns = Columns.of(case, declare(case))
    fields = {field.name: field.type for field in columns.schema}
    assert fields == {
        "ts": pa.int64(),
        "k": pa.int64(),
        "v": pa.decimal128(28, 2),
        "x": pa.float64(),
        "s": pa.string(),
        "b": pa.bool_(),
    }
    assert columns.batch(steps[1]["in"]).to_pylist() == [
        {"ts": 2, "k": None, "v": Decimal("2.00"), "x": None, "s": "a", "b": None}
    ]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"op": "nexmark"}, "nexmark: not built yet"),
        ({"op": "join"}, "rows that match by None are not built yet"),
        ({"window": {"kind": "lunar", "size": 5}}, "lunar windows are not built yet"),
        ({"window": {"kind": "global", "evictor": {"delta_threshold": 2}}}, "evictors are left to Flink"),
        ({"steps": [{"delete_ids": [1]}]}, "an append stream has neither"),
        ({"steps": [{"timer": 5}]}, "steps with `timer` are not built yet"),
        ({"trigger": {"moon": "full"}}, "trigger {'moon': 'full'}: not built yet"),
        ({"agg": "geometric_mean"}, "aggregate geometric_mean: not built yet"),
        ({"ts_combiner": "earliest_transformed"}, "ts_combiner earliest_transformed: not built yet"),
        ({"watermark_policy": {"kind": "guess"}}, "watermark policy guess: not built yet"),
        (
            {"steps": [{}], "expect": [{"after": 0, "rows": [{"timing": "early", "nonspec_index": 0}]}]},
            "contradicts itself",
        ),
    ],
)
def test_what_is_not_adopted_has_its_reason(fields: dict[str, Any], reason: str) -> None:
    verdict = replay(vector(**fields))
    assert verdict.status is Status.NOT_ADOPTED
    assert reason in verdict.reason
