"""Messages that are changes: which of those that came are left when each delete has taken the row it names."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.comparable import comparable
from fanlight.kernels.grouping.groups import Bools, Groups, Ints, densify, encode
from fanlight.kernels.row_changes import settle_equal
from fanlight.operators.window.plan import Plan

DELETE = pa.field("delete", pa.bool_())
"""Of a message that is a change: whether it takes another back."""


def left(plan: Plan, messages: pa.RecordBatch, rows: Ints, owners: Ints) -> Bools:
    """Which of the messages at `rows`, each with its owner, are left in it. They stand in the order they came.

    A delete takes the oldest message of its owner that is equal in its time and in the columns that are kept.
    """
    deletes = messages.column("delete").to_numpy(zero_copy_only=False)
    if not deletes.any():
        return np.ones(len(rows), np.bool_)
    found = encode([messages.column("time"), *_told(plan, messages)], len(messages))
    count = max(found.count, 1)
    codes, present = densify(owners * count + found.codes[rows], (int(owners.max(initial=0)) + 1) * count)
    return settle_equal(Groups(codes, len(present)), deletes[rows], np.zeros(len(present), np.int64)).stays


def netted(plan: Plan, messages: pa.RecordBatch) -> pa.RecordBatch:
    """The messages that are left, and the deletes that did not find the row they name among these.

    Rows whose first windows differ are not set off against each other: they count in different windows.
    """
    deletes = messages.column("delete").to_numpy(zero_copy_only=False)
    if not deletes.any():
        return messages
    told = [messages.column("time"), messages.column("live_from"), *_told(plan, messages)]
    found = encode(told, len(messages))
    groups = Groups(found.codes.astype(np.int64), found.count)
    settled = settle_equal(groups, deletes, np.zeros(found.count, np.int64))
    return messages.filter(pa.array(settled.stays | ~settled.finds))


def _told(plan: Plan, messages: pa.RecordBatch) -> list[pa.Array]:
    """What tells messages apart, besides their time. A delete has an operation and an offset of its own."""
    changes = plan.spec.changes
    assert changes is not None
    own = (changes.op, plan.spec.offsets)
    names = [name for name in plan.message_columns if name not in own]
    return [part for name in names for part in comparable(messages.column(f"v.{name}"))]
