"""Hypothesis strategies for changes: scripts whose records take earlier ones back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from fanlight.testing.script import Record, Step, same

OP = "op"
"""The column of operations."""


@st.composite
def changelogs(draw: DrawFn, steps: Sequence[Step]) -> list[Step]:
    """The steps with changes as records: some stay and insert a row, others take back one that was inserted before."""
    live: list[Record] = []
    changed = []
    for step in steps:
        records: list[Record] = []
        for record in step.records:
            if draw(st.booleans()) and live:
                gone = live.pop(draw(st.integers(0, len(live) - 1)))
                records.append({**gone, OP: draw(st.sampled_from(["-U", "-D"]))})
            else:
                live.append(record)
                records.append({**record, OP: draw(st.sampled_from(["+I", "+U"]))})
        changed.append(replace(step, records=tuple(records)))
    return changed


def net(steps: Sequence[Step]) -> list[Record]:
    """The rows that are left when all changes are made, in the order they came, without their operations.

    >>> net([Step(records=({"v": 1, "op": "+I"}, {"v": 2, "op": "+I"})), Step(records=({"v": 1, "op": "-D"},))])
    [{'v': 2}]
    """
    rows: list[Record] = []
    for record in (record for step in steps for record in step.records):
        row = {name: value for name, value in record.items() if name != OP}
        if record[OP] in ("+I", "+U"):
            rows.append(row)
            continue
        place = next(place for place, other in enumerate(rows) if same(dict(other), row))
        del rows[place]
    return rows
