"""The message store: records by slice, and what the aggregates that need them say of panes.

Windows are thirty long and start every ten: 25 is in the windows 0, 1 and 2.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from tests.operators.window.accepting import Record, Shard

import fanlight as fl
from fanlight.operators.window.messages import Messages
from fanlight.state.memory import MemoryStore

SHARD = Shard(fl.hopping("30 us", every="10 us"), {"aggregates": (("of", fl.list("v")),)})


def kept(*records: Record, watermark: int = -1000) -> Messages:
    messages = Messages(SHARD.plan, MemoryStore())
    messages.append(SHARD.accepted(*records, watermark=watermark))
    return messages


def said(messages: Messages, *panes: tuple[int, str], after: list[int] | None = None) -> list[list[int]]:
    """What each pane, by window and key, holds."""
    windows, keys = np.array([window for window, _ in panes]), [pa.array([key for _, key in panes])]
    ((_, found, _),) = messages.values(windows, keys, None if after is None else np.array(after))
    return found.to_pylist()


def test_a_pane_holds_the_messages_of_its_key_and_its_window() -> None:
    messages = kept((25, "a"), (5, "a"), (25, "b"))
    assert said(messages, (0, "a"), (1, "a"), (0, "b"), (3, "a")) == [[5, 25], [25], [25], []]


def test_messages_count_from_the_first_window_that_had_not_expired_when_they_came() -> None:
    """At 30 the window 0 is over: 25 counts in 1 and 2."""
    messages = kept((25, "a"), watermark=30)
    assert said(messages, (0, "a"), (1, "a"), (2, "a")) == [[], [25], [25]]


def test_discarding_those_that_were_handed_out_are_left_out_pane_by_pane() -> None:
    """Arrivals are counted from 0: the first pane has fired through the first record, the second through none."""
    messages = kept((25, "a"), (26, "a"))
    assert said(messages, (0, "a"), (1, "a"), after=[0, -1]) == [[26], [25, 26]]


def test_whole_slices_are_deleted() -> None:
    messages = kept((5, "a"), (25, "a"))
    assert messages.slices.tolist() == [0, 2]
    messages.retire([0])
    assert said(messages, (0, "a")) == [[25]]
    assert messages.read([0, 2]).column("time").to_pylist() == [25]
