"""What the format can say and the peers' cases here do not: small cases of our own, one for each rule."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from fanlight.testing.vectors import ENGINES, Status, Vector, replay

CASES = """
- name: a scripted trigger fires from the step that says ready on, and ends with the firing after finish
  repo: apache/beam
  window: {kind: fixed, size: 10}
  agg: list
  trigger: manual
  mode: discarding
  lateness_ms: 100
  ts_combiner: earliest
  bundles: per_record
  steps:
  - {in: [{ts: 1, v: 1}]}
  - {in: [{ts: 2, v: 2}], ready: true}
  - {in: [{ts: 3, v: 3}], finish: true}
  - {in: [{ts: 4, v: 4}]}
  expect:
  - {after: 1, rows: [{v: [1, 2], ts: 1, first: true, final: false, timing: early, index: 0, nonspec_index: -1}]}
  - {after: 2, rows: [{v: [3], ts: 3, first: false, final: true, timing: early, index: 1, nonspec_index: -1}]}
  dropped: [{after: 3, count: 1}, {after: 3, count_total: 1}]

- name: a scripted trigger can be switched off again
  repo: apache/beam
  window: {kind: fixed, size: 10}
  agg: list
  trigger: manual
  mode: discarding
  lateness_ms: 100
  bundles: per_record
  steps:
  - {in: [{ts: 1, v: 1}], ready: true}
  - {watermark: 15, ready: false}
  - {in: [{ts: 2, v: 2}], ready: true}
  expect:
  - {after: 0, rows: [{v: [1], timing: early, firing: early}]}
  - {after: 2, rows: [{v: [2], timing: late, firing: default, nonspec_index: 0}]}

- name: a view that emits on close shows the windows that have closed
  repo: risingwavelabs/risingwave
  window: {kind: fixed, size: 100}
  agg: [cnt=count(foo), total=sum(foo)]
  emit: on_close
  watermark_policy: {kind: max_minus, delay: 5, update: per_step}
  expect_mode: state
  steps:
  - {in: [{ts: 10, foo: 1}, {ts: 20, foo: null}, {ts: 110, foo: 3}]}
  - {in: [{ts: 205, foo: 7}]}
  expect:
  - {after: 0, rows: [{window_start: 0, window_end: 100, cnt: 1, total: 1, n: 2}]}
  - {after: 1, rows: [{window_start: 0, cnt: 1, total: 1}, {window_start: 100, cnt: 1, total: 3}]}

- name: a maintained view keeps what the watermark has passed
  repo: risingwavelabs/risingwave
  window: {kind: sliding, size: 20, slide: 10}
  key: true
  agg: [mean=avg(v), most=max(v), median=median(v)]
  watermark_policy: {kind: max_minus, delay: 5, update: per_step}
  expect_mode: state
  steps:
  - {in: [{ts: 1, v: 1, k: a}, {ts: 12, v: 2, k: a}]}
  - {in: [{ts: 100, v: 3, k: b}]}
  expect:
  - after: 1
    rows:
    - {k: a, window: [-10, 10], mean: 1}
    - {k: a, window: [0, 20], mean: 1.5, most: 2, median: 1.5}
    - {k: a, window: [10, 30], mean: 2}
    - {k: b, window: [90, 110], most: 3}
    - {k: b, window: [100, 120], most: 3}

- name: the global window ends with time, and survives a restore
  repo: apache/flink
  window: {kind: global}
  key: true
  agg: sum
  trigger: {continuous_event_time: 3000}
  bundles: per_record
  steps:
  - {in: [{k: b, v: 1, ts: 3000}, {k: a, v: 1, ts: 20}]}
  - {watermark: 3001, native: 3000}
  - {checkpoint_restore: true}
  - {watermark: 6001, native: 6000}
  expect:
  - {after: 1, rows: [{k: a, v: 1, ts: inf, window: [-inf, inf]}]}
  - {after: 3, rows: [{k: a, v: 1, ts: inf}, {k: b, v: 1, ts: inf}]}

- name: windows of the clock need no times
  repo: apache/flink
  window: {kind: sliding, size: 3000, slide: 1000, time: processing}
  key: true
  agg: sum
  trigger: default
  bundles: per_record
  steps:
  - {clock: 3}
  - {in: [{k: b, v: 1}]}
  - {clock: 1000}
  - {in: [{k: b, v: 1}, {k: b, v: 1}]}
  - {clock: 2000}
  - {in: [{k: a, v: 1}, {k: a, v: 1}]}
  - {clock: 3000}
  - {clock: 7000}
  expect:
  - {after: 2, rows: [{k: b, v: 1, ts: 999}]}
  - {after: 4, rows: [{k: b, v: 3, ts: 1999}]}
  - {after: 6, rows: [{k: b, v: 3, ts: 2999}, {k: a, v: 2, ts: 2999}]}
  - {after: 7, rows: [{k: b, v: 2, ts: 3999}, {k: a, v: 2, ts: 3999}, {k: a, v: 2, ts: 4999}]}

- name: a clock without timers comes along with the next step
  repo: apache/samza
  window: {kind: fixed, size: 1000, time: processing}
  key: true
  agg: list
  trigger: {early: {any: [{count: 3}, {processing_delay: 100}]}, default: true}
  bundles: per_record
  row_order: exact
  steps:
  - {clock: 1}
  - {in: [{k: 1, v: 1}]}
  - {clock: 101, no_timers: true}
  - {in: [{k: 1, v: 2}]}
  - {clock: 1500}
  - {end: true}
  expect:
  - {after: 3, rows: [{k: 1, v: [1, 2], n: 2, firing: early, pane: 0}]}
  - {after: 4, rows: [{k: 1, v: [1, 2], n: 2, firing: default, pane: 0}]}

- name: what changed in a batch leaves with the batch
  repo: apache/spark
  window: {kind: fixed, size: 5000}
  agg: count
  emit: on_update_per_batch
  expect_mode: since_last
  steps:
  - {in: [{ts: 10000}, {ts: 11000}]}
  - {watermark: 1000}
  - {in: [{ts: 25000}]}
  - {watermark: 15000}
  - {in: [{ts: 10000}, {ts: 26000}]}
  expect:
  - {after: 1, rows: [{window_start: 10000, v: 2}]}
  - {after: 3, rows: [{window_start: 25000, v: 1}]}
  - {after: 4, rows: [{window_start: 25000, v: 2}]}
  dropped: [{after: 4, count: 1}]

- name: an empty firing carries the peer's zero
  repo: apache/beam
  window: {kind: fixed, size: 10}
  agg: sum
  trigger: {after_watermark: {early: {count: 1}}}
  mode: discarding
  bundles: per_record
  expect_mode: end_total
  row_order: exact
  steps:
  - {in: [{ts: 1, v: 1.1}, {ts: 2, v: 2.2}]}
  - {watermark: 10}
  expect:
  - {after: 1, rows: [{v: 1.1}, {v: 2.2}, {v: 0, n: 0, timing: on_time, final: true}]}

- name: two inputs, and the slower one holds the windows open
  repo: here
  window: {kind: fixed, size: 10}
  agg: count
  watermark_policy: {kind: explicit_per_side, combine: min}
  steps:
  - {in: [{side: L, ts: 1}, {side: R, ts: 2}]}
  - {watermark: 20, side: L}
  - {watermark: 10, side: R}
  expect:
  - {after: 2, rows: [{v: 2}]}

- name: only what is dropped
  repo: here
  window: {kind: fixed, size: 10}
  agg: count
  expect_mode: dropped_only
  steps:
  - {watermark: 10}
  - {in: [{ts: 1}, {ts: 11}]}
  - {tick: true}
  - {in: [{ts: 2}]}
  dropped: [{after: 1, count: 1}, {after: 3, count_total: 2}]

- name: a session that grows removes what it was
  repo: apache/kafka
  window: {kind: session, gap: 10}
  key: true
  agg: count
  emit: on_update
  ts_combiner: latest
  watermark_policy: {kind: stream_time}
  bundles: per_record
  row_order: exact
  steps:
  - {in: [{k: a, ts: 0}]}
  - {in: [{k: a, ts: 0}]}
  - {in: [{k: a, ts: 10}]}
  expect:
  - {after: 0, rows: [{k: a, session: [0, 0], v: 1, ts: 0}]}
  - {after: 1, rows: [{k: a, session: [0, 0], v: 2}]}
  - {after: 2, rows: [{k: a, session: [0, 0], v: null}, {k: a, session: [0, 10], v: 3, ts: 10}]}

- name: a removal may be told by what is removed
  repo: apache/kafka
  window: {kind: session, gap: 10}
  key: true
  agg: count
  emit: on_update
  watermark_policy: {kind: stream_time}
  steps:
  - {in: [{k: a, ts: 0}]}
  - {in: [{k: a, ts: 7}]}
  expect:
  - {after: 0, rows: [{session: [0, 0], v: 1}]}
  - {after: 1, rows: [{session: [0, 0], v: 1, retract: true}, {session: [0, 7], v: 2}]}

- name: kafka's sessions past grace can still be merged
  repo: apache/kafka
  window: {kind: session, gap: 10}
  key: true
  agg: sum
  lateness_ms: 0
  watermark_policy: {kind: stream_time}
  expect_mode: state
  steps:
  - {in: [{k: a, ts: 0, v: 1}]}
  - {in: [{k: a, ts: 20, v: 2}]}
  - {in: [{k: a, ts: 10, v: 4}]}
  expect:
  - {after: 1, rows: [{k: a, session: [0, 0], v: 1}, {k: a, session: [20, 20], v: 2}]}
  - {after: 2, rows: [{k: a, session: [0, 20], v: 7}]}

- name: every record keeps its session open for as long as a rule says
  repo: apache/flink
  window: {kind: session, gap: dynamic, gap_rule: 'a: 5 * v; else 3'}
  key: true
  agg: list
  trigger: default
  bundles: per_record
  row_order: exact
  steps:
  - {in: [{k: a, ts: 0, v: 1}, {k: a, ts: 5, v: 2}, {k: b, ts: 5, v: 2}, {k: b, ts: 9, v: 3}]}
  - {watermark: 8}
  - {watermark: 15}
  expect:
  - {after: 1, rows: [{k: b, v: [2], window: [5, 8], ts: 7}]}
  - {after: 2, rows: [{k: b, v: [3], window: [9, 12]}, {k: a, v: [1, 2], window: [0, 15]}]}

- name: count windows are told by their first and last place, and end at no time
  repo: apache/flink
  window: {kind: count_sliding, size: 3, slide: 1}
  key: true
  agg: sum
  trigger: {repeat: {count: 1}}
  bundles: per_record
  row_order: exact
  steps:
  - {in: [{k: a, ts: 9, v: 1}, {k: b, ts: 8, v: 10}, {k: a, ts: 7, v: 2}]}
  - {in: [{k: a, ts: 6, v: 4}, {k: a, ts: 5, v: 8}]}
  expect:
  - after: 0
    rows: [{k: a, v: 1, tuples: [1, 1]}, {k: b, v: 10, tuples: [1, 1]}, {k: a, v: 3, tuples: [1, 2], ts: inf}]
  - {after: 1, rows: [{k: a, v: 7, tuples: [1, 3]}, {k: a, v: 14, tuples: [2, 4], ts: inf}]}

- name: windows that start at each record, and those that end there
  repo: here
  window: {kind: sliding_forward, diff: 10}
  agg: list
  emit: on_close
  watermark_policy: {kind: stream_time}
  bundles: per_record
  steps:
  - {in: [{ts: 100, v: a}, {ts: 105, v: b}]}
  - {in: [{ts: 200, v: c}]}
  expect:
  - {after: 1, rows: [{v: [a, b], window: [100, 111]}, {v: [b], window: [105, 116]}]}

- name: aggregates over times in seconds
  repo: apache/spark
  window: {kind: session, gap: 10000}
  key: true
  agg: [mean(ts), sum(ts), var_samp(ts), most=max(v)]
  emit: on_close
  steps:
  - {in: [{k: a, ts: 1000, v: 1}, {k: a, ts: 2500, v: 2}]}
  - {end: true}
  expect:
  - {after: 1, rows: [{k: a, mean_s: 1.75, sum_s: 3.5, var_s: 1.125, most: 2, n: 2}]}

- name: the last row of each window stands, the ones it replaced do not
  repo: here
  window: {kind: fixed, size: 10}
  agg: sum
  trigger: {repeat: {count: 1}}
  mode: retracting
  expect_mode: final
  steps:
  - {in: [{ts: 1, v: 1}]}
  - {in: [{ts: 2, v: 2}, {ts: 11, v: 5}]}
  expect:
  - {after: end, rows: [{window: [0, 10], v: 3}, {window: [10, 20], v: 5}]}
"""


def vector(fields: dict[str, Any]) -> Vector:
    return Vector(fields["name"], "window_agg", fields["repo"], "", fields)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("fields", yaml.safe_load(CASES), ids=lambda fields: fields["name"])
def test_the_format(fields: dict[str, Any], engine: str) -> None:
    verdict = replay(vector(fields), engine)
    on_spark = engine == "spark" and fields.get("trigger") == "manual"
    assert verdict.status is (Status.NOT_ADOPTED if on_spark else Status.PASS), verdict.reason


def test_a_step_that_is_not_there_cannot_be_asserted() -> None:
    fields = {"name": "a case", "repo": "here", "window": {"kind": "global"}, "agg": "count", "steps": [{"tick": True}]}
    verdict = replay(vector({**fields, "expect": [{"after": 1, "rows": []}]}))
    assert verdict.status is Status.FAIL
    assert "`after` (1) must be a step from 0 to 0" in verdict.reason
