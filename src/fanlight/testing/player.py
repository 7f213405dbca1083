"""Playing a script on the embedded engine, to lay its transcript beside the oracle's."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from fanlight.embedded.window_operator import WindowOperator
from fanlight.model.firing import Op, Timing
from fanlight.model.reason import Reason
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, timestamp
from fanlight.model.windows.window import Window
from fanlight.state.memory import MemoryStore
from fanlight.testing.script import DeadLetter, Firing, Outcome, Step, Transcript, ValueLetter, as_key

_OPS = {op.code: op for op in Op}


def play(
    spec: WindowSpec, steps: Sequence[Step], schema: pa.Schema, *, restore_before: Collection[int] = ()
) -> Transcript:
    """What the embedded engine gives for `steps`.

    Before the steps of `restore_before` it is written down and read back.

    >>> from fanlight.model.aggregates import count
    >>> from fanlight.model.windows.tumbling import tumbling
    >>> spec = WindowSpec(time="ts", window=tumbling("10 us"), aggregates=(("n", count()),))
    >>> steps = [Step(records=({"ts": 3}, {"ts": 4})), Step(end=True)]
    >>> [firing.values for firing in play(spec, steps, pa.schema({"ts": pa.int64()})).firings]
    [{'n': 2}]
    """
    player = Player(spec, schema)
    outcomes = []
    for place, step in enumerate(steps):
        if place in restore_before:
            player.restore()
        outcomes.append(player.step(step))
    return Transcript(outcomes)


class Player:
    """A standalone operator that takes steps and gives outcomes."""

    def __init__(self, spec: WindowSpec, schema: pa.Schema) -> None:
        self.store = MemoryStore()
        self.operator = WindowOperator(spec, schema=schema, store=self.store)
        self._schema = schema

    def step(self, step: Step) -> Outcome:
        """One step in, one outcome out."""
        operator, before = self.operator, self.operator.accounting.as_dict()
        said: dict[str, Any] = {"signal": step.signal, "finish": step.finish}
        if step.end:
            operator.end()
        elif step.records:
            # times in a script are microseconds, whatever type the column has: so the columns are made here
            records = pa.RecordBatch.from_pylist(list(step.records), schema=self._schema)
            operator.add(records, watermark=step.watermark, clock=step.clock, **said)
        else:
            operator.advance(watermark=step.watermark, clock=step.clock, **said)
        after = operator.accounting.as_dict()
        letters = operator.take_dead_letters().to_pylist()
        withheld = [row for row in letters if row["reason"] == Reason.VALUE_OUT_OF_RANGE.value]
        return Outcome(
            tuple(firing_of(operator.spec, row) for row in rows_of(operator.take())),
            tuple(letter_of(row) for row in letters if row not in withheld),
            after["received"] - before["received"],
            after["accepted"] - before["accepted"],
            after["duplicates"] - before["duplicates"],
            after["missed_windows"] - before["missed_windows"],
            tuple(_value_letter(json.loads(row["detail"])) for row in withheld),
            after["filtered"] - before["filtered"],
            after["dropped"] - before["dropped"],
        )

    def restore(self) -> None:
        """Write everything down and go on from what was written."""
        self.operator = WindowOperator.restore(self.operator.spec, self.operator.snapshot())


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of results with their times as microseconds."""
    window = table.column("window").combine_chunks()
    pane = table.column("pane").combine_chunks()
    rows: list[dict[str, Any]] = table.drop_columns(["window", "pane"]).to_pylist()
    moments = (window.field("start"), window.field("end"), pane.field("time"))
    times = [moment.cast(pa.int64()).to_pylist() for moment in moments]
    panes = pane.to_pylist()
    for row, start, end, time, said in zip(rows, *times, panes, strict=True):
        row["window"], row["pane"] = (start, end), {**said, "time": time}
    return rows


def firing_of(spec: WindowSpec, row: dict[str, Any]) -> Firing:
    """A row of results, as `rows_of` gives it, in the words of a script."""
    start, end = row["window"]
    pane = row["pane"]
    return Firing(
        as_key(row[name] for name in spec.keys),
        Window(START_OF_TIME if start is None else start, END_OF_TIME if end is None else end),
        {name: row[name] for name, _ in spec.aggregates},
        _OPS[pane["op"]],
        Timing[pane["timing"]],
        pane["number"],
        pane["revision"],
        pane["is_last"],
        pane["time"],
    )


def _value_letter(detail: dict[str, Any]) -> ValueLetter:
    """What the detail of a letter tells; its values are those of JSON."""
    start, end = detail["window"]["start"], detail["window"]["end"]
    window = Window(
        START_OF_TIME if start is None else timestamp(start), END_OF_TIME if end is None else timestamp(end)
    )
    return ValueLetter(as_key(detail["key"].values()), window, detail["values"], tuple(detail["out_of_range"]))


def letter_of(row: dict[str, Any]) -> DeadLetter:
    """A row of dead letters in the words of a script."""
    return Reason(row["reason"]), row["record"]
