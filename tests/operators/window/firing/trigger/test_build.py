"""From the declared trigger to the one that runs: state columns are named by their place in the tree."""

from __future__ import annotations

import pytest

from fanlight.errors import SpecError
from fanlight.model.semantics import Semantics
from fanlight.model.triggers import Trigger, after, after_delay, at_watermark, every, in_order, repeat
from fanlight.operators.window.firing.trigger import build


def test_columns_are_named_by_the_way_from_the_root_and_hold_what_a_new_pane_has() -> None:
    """State is found again under these names by whoever restarts: they are part of the format of what is kept."""
    columns = build(at_watermark(early=repeat(after(2)), late=in_order(after(1), every("1 s"))), Semantics()).columns
    assert {name: kind for name, (kind, _) in columns.items()} == {
        "t.done": "bool",
        "t.past": "bool",
        "t.e.done": "bool",
        "t.e.0.done": "bool",
        "t.e.0.count": "int64",
        "t.l.done": "bool",
        "t.l.0.done": "bool",
        "t.l.0.count": "int64",
        "t.l.1.last": "int64",
    }


def test_a_delay_and_a_period_remember_nothing_at_first() -> None:
    """Nothing is the start of time, which is before every clock."""
    assert build(after_delay("1 s"), Semantics()).columns == {"t.done": ("bool", 0), "t.since": ("int64", -(2**63))}


def test_what_is_no_trigger_of_ours_is_refused() -> None:
    class Own(Trigger):
        pass

    with pytest.raises(SpecError, match="is not a trigger"):
        build(Own(), Semantics())
