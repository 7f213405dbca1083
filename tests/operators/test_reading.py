"""A question about some keys and times is answered from the chunks that can matter, as from all of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.model.duration import Duration
from fanlight.model.retention import Retention
from fanlight.model.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.windows import TimeDomain
from fanlight.operators.reading import Question, messages_table, needed, windows_table
from fanlight.operators.shard import ShardOperator
from fanlight.state.memory import MemoryStore
from fanlight.testing import strategies

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64(), "f": pa.float64(), "b": pa.bool_()})

retentions = st.none() | st.builds(
    Retention, strategies.durations(1, 40) | st.just(Duration.FOREVER), st.none() | st.integers(1, 4), st.just(True)
)
moments = st.integers(-20, 120) | st.sampled_from([START_OF_TIME, EARLIEST, LATEST, END_OF_TIME])
keys = st.none() | st.lists(st.sampled_from(["a", "b", None, "nobody"]).map(lambda key: (key,)), max_size=3).map(tuple)


def held(spec: fl.WindowSpec, steps: list[Any]) -> ShardOperator:
    """A shard that has gone through a script, its end left out."""
    operator = fl.WindowOperator(spec, schema=SCHEMA)
    for step in steps[:-1]:
        if step.records:
            records = pa.RecordBatch.from_pylist(list(step.records), schema=SCHEMA)
            operator.add(records, watermark=step.watermark, clock=step.clock)
        else:
            operator.advance(watermark=step.watermark, clock=step.clock)
    return operator._require_shard()


def pruned(shard: ShardOperator, question: Question, *, messages: bool) -> ShardOperator:
    """The same shard over only those chunks that can matter."""
    ranges = {part.space: part for part in needed(shard.plan, question, messages=messages)}
    full, store = shard._store, MemoryStore()
    for space in ("index", "partials", "panes", "records", "retained"):
        for address in full.list(space):
            part = ranges.get(space)
            if part is None or part.first <= address.slice <= part.last:
                store.put(address, full.get(address))
    store.commit()
    return ShardOperator(shard.plan, store)


@given(
    strategies.pipelines(
        window=strategies.windows([TimeDomain.EVENT]), keys=("k",), retention=retentions, watermark=fl.Explicit()
    ),
    moments,
    moments,
    keys,
)
def test_chunks_that_are_not_needed_change_no_answer(
    pipeline: strategies.Pipeline, one: int, other: int, wanted: tuple[tuple[Any, ...], ...] | None
) -> None:
    spec, steps = pipeline
    shard = held(spec, steps)
    question = Question(min(one, other), max(one, other), wanted)
    whole = windows_table(shard, Question())
    starts, ends = (pa.compute.struct_field(whole["window"], side).to_pylist() for side in ("start", "end"))
    expected = [
        row
        for row, start, end in zip(whole.to_pylist(), starts, ends, strict=True)
        if (START_OF_TIME if start is None else micros(start)) < question.end
        and (END_OF_TIME if end is None else micros(end)) > question.start
        and (wanted is None or (row["k"],) in wanted)
    ]
    assert repr(windows_table(shard, question).to_pylist()) == repr(expected)
    assert repr(windows_table(pruned(shard, question, messages=False), question).to_pylist()) == repr(expected)
    if spec.needs_messages:
        answer = messages_table(shard, question).to_pylist()
        assert repr(messages_table(pruned(shard, question, messages=True), question).to_pylist()) == repr(answer)
        kept = messages_table(shard, Question()).to_pylist()
        assert repr(answer) == repr([row for row in kept if matches(row, question)])


def matches(row: dict[str, Any], question: Question) -> bool:
    is_wanted = question.keys is None or (row["k"],) in question.keys
    return is_wanted and question.start <= micros(row["ts"]) < question.end


def micros(time: Any) -> int:
    return int(pa.scalar(time, pa.timestamp("us", "UTC")).cast(pa.int64()).as_py())
