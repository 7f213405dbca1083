"""A process binds equal specs once, and never takes one for another."""

from __future__ import annotations

import operator

import pyarrow as pa
from pyspark import cloudpickle

import fanlight as fl
from fanlight.spark.bound_once import bound_once

SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "value": pa.int64()})
MINUTES = fl.stream([], time="ts").window(fl.tumbling("1 minute"))


def summed(zero: object) -> fl.WindowSpec:
    return MINUTES.agg(total=fl.fold("value", zero, operator.add, pa.float64(), merge=operator.add)).spec


def largest(left: int, right: int) -> int:
    return max(left, right)


largest.__module__ = "__main__"  # as if it had been written at a prompt


def test_a_spec_that_is_sent_twice_is_bound_once() -> None:
    sent = cloudpickle.dumps(bound_once(MINUTES.agg(n=fl.count()).spec, SCHEMA))
    assert cloudpickle.loads(sent)() is cloudpickle.loads(sent)()


def test_lean_rows_and_other_columns_are_bound_apart() -> None:
    spec = MINUTES.agg(n=fl.count()).spec
    full, lean = bound_once(spec, SCHEMA)(), bound_once(spec, SCHEMA, lean=True)()
    other = bound_once(spec, SCHEMA.append(pa.field("more", pa.string())))()
    assert (full.result.names, lean.result.names) == (["window", "n", "pane"], ["window", "n"])
    assert other.schema.names == ["ts", "value", "more"]


def test_values_that_are_equal_and_written_differently_are_not_the_same() -> None:
    """0 and 0.0 are equal, and so are the specs; a fold that starts with the one is not the other."""
    assert summed(0) == summed(0.0)
    assert bound_once(summed(0), SCHEMA)() is not bound_once(summed(0.0), SCHEMA)()


def test_what_cannot_be_looked_up_is_bound_each_time() -> None:
    """A list cannot be hashed; a function that travels by value is another one each time it arrives."""
    for spec in (summed([0]), MINUTES.agg(n=fl.reduce("value", largest)).spec):
        bind = bound_once(spec, SCHEMA)
        assert bind() is not bind()
        assert bind().result.names == ["window", spec.aggregates[0][0], "pane"]
