"""Which changes of a declaration a checkpoint allows."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

import fanlight as fl
from fanlight.operators.fingerprint import changes, fingerprint

SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC")})
SPEC = fl.stream([], time="ts").window(fl.tumbling("1 minute")).agg(n=fl.count()).spec


def told(before: fl.WindowSpec, now: fl.WindowSpec) -> list[str]:
    stored, found = (fingerprint(spec, SCHEMA, [0, 1]) for spec in (before, now))
    return [change.told for change in changes(stored, found)]


def test_a_unit_may_be_added_or_left_out_because_without_one_no_whole_number_was_read() -> None:
    """So checkpoints of before `unit` had no default go on."""
    micros, millis = (replace(SPEC, unit=unit) for unit in (fl.TimeUnit.MICROSECONDS, fl.TimeUnit.MILLISECONDS))
    assert told(micros, SPEC) == told(SPEC, millis) == []
    assert told(micros, millis) == ["unit: microseconds before, milliseconds now"]


def test_how_far_ahead_records_may_be_may_change() -> None:
    """It is a matter of records to come, as the delay is; checkpoints of before have none at all."""
    assert told(SPEC, replace(SPEC, ahead=None)) == told(replace(SPEC, ahead=None), SPEC) == []
    older = fingerprint(SPEC, SCHEMA, [0, 1])
    del older["spec"]["ahead"]
    assert changes(older, fingerprint(SPEC, SCHEMA, [0, 1])) == []
