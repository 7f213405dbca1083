"""A question about some keys and times is answered from the chunks that can matter, as from all of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.model.retention import Retention
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import EARLIEST, END_OF_TIME, LATEST, START_OF_TIME
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.ingest.inputs import Said
from fanlight.operators.shard import Shard
from fanlight.operators.window.aggregate import WindowAggregate
from fanlight.operators.window.query_state import StateQuery, needed
from fanlight.state.memory import MemoryStore
from fanlight.testing.strategies import specs as strategies

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64(), "f": pa.float64(), "b": pa.bool_()})

retentions = st.none() | st.builds(
    Retention,
    strategies.durations(1, 40) | st.just(Duration.FOREVER),
    st.none() | st.integers(1, 4),
    st.just(True),
    st.sampled_from([None, "v"]),
)
moments = st.integers(-20, 120) | st.sampled_from([START_OF_TIME, EARLIEST, LATEST, END_OF_TIME])
keys = st.none() | st.lists(st.sampled_from(["a", "b", None, "nobody"]).map(lambda key: (key,)), max_size=3).map(tuple)


class Held:
    """A shard that has gone through a script, its end left out; and what it holds, read through a store."""

    def __init__(self, spec: fl.WindowSpec, store: MemoryStore) -> None:
        self.store = store
        self.shard = Shard(spec, store)
        self.shard.bind(SCHEMA)

    def go_through(self, steps: list[Any]) -> Held:
        for step in steps[:-1]:
            came = CheckedBatch(pa.RecordBatch.from_pylist(list(step.records), schema=SCHEMA)) if step.records else None
            self.shard.step(came, Said(watermark=step.watermark, clock=step.clock))
        return self

    @property
    def aggregate(self) -> WindowAggregate:
        operator = self.shard.require_operator()
        assert isinstance(operator, WindowAggregate)
        return operator

    def windows(self, question: StateQuery) -> pa.Table:
        return self.aggregate.query_windows(question, self.shard.watermark)

    def messages(self, question: StateQuery) -> pa.Table:
        return self.aggregate.query_messages(question)

    def pruned(self, question: StateQuery, *, messages: bool) -> Held:
        """The same shard over only those chunks that can matter."""
        ranges = {part.space: part for part in needed(self.aggregate.plan, question, messages=messages)}
        store = MemoryStore()
        for space in ("index", "partials", "panes", "records", "retained"):
            for address in self.store.list(space):
                part = ranges.get(space)
                if part is None or part.first <= address.part <= part.last:
                    store.put(address, self.store.get(address))
        store.commit()
        return Held(self.shard.spec, store)


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
    shard = Held(spec, MemoryStore()).go_through(list(steps))
    question = StateQuery(min(one, other), max(one, other), wanted)
    whole = shard.windows(StateQuery())
    starts, ends = (pa.compute.struct_field(whole["window"], side).to_pylist() for side in ("start", "end"))
    expected = [
        row
        for row, start, end in zip(whole.to_pylist(), starts, ends, strict=True)
        if (START_OF_TIME if start is None else micros(start)) < question.end
        and (END_OF_TIME if end is None else micros(end)) > question.start
        and (wanted is None or (row["k"],) in wanted)
    ]
    assert repr(shard.windows(question).to_pylist()) == repr(expected)
    assert repr(shard.pruned(question, messages=False).windows(question).to_pylist()) == repr(expected)
    if spec.needs_messages:
        answer = shard.messages(question).to_pylist()
        assert repr(shard.pruned(question, messages=True).messages(question).to_pylist()) == repr(answer)
        kept = shard.messages(StateQuery()).to_pylist()
        assert repr(answer) == repr([row for row in kept if matches(row, question)])


def matches(row: dict[str, Any], question: StateQuery) -> bool:
    is_wanted = question.keys is None or (row["k"],) in question.keys
    return is_wanted and question.start <= micros(row["ts"]) < question.end


def micros(time: Any) -> int:
    return int(pa.scalar(time, pa.timestamp("us", "UTC")).cast(pa.int64()).as_py())
