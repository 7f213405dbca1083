"""Panes that become one: what their triggers hand on to the pane that they are now."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fanlight as fl
from fanlight.kernels.grouping.groups import Groups
from fanlight.model.semantics import Semantics
from fanlight.model.triggers import Trigger
from fanlight.operators.window.firing.trigger import Node, State, build
from fanlight.operators.window.firing.trigger.node import UNSET

OLDS = Groups(np.array([0, 0, 2]), 3)
"""Of three old panes the first two become the first new one, and the last becomes the third. The second is new."""


def state(node: Node, count: int, **changed: list[Any]) -> State:
    """The state of new panes, and of it what is changed."""
    fresh: State = {name: np.full(count, value, dtype) for name, (dtype, value) in node.columns.items()}
    named = {name.replace("_", "."): np.array(column) for name, column in changed.items()}
    assert named.keys() <= fresh.keys()
    return {"pending": np.zeros(count, np.int64)} | fresh | named


def merged(trigger: Trigger, closed: list[bool] | None = None, **olds: list[Any]) -> dict[str, list[Any]]:
    """What the three new panes have, given what the three old ones had."""
    node = build(trigger, Semantics())
    into = state(node, 3)
    node.merge(state(node, 3, **olds), OLDS, np.array(closed or [False] * 3), into)
    assert into.keys() == {"pending", *node.columns}
    assert all(column.dtype == node.columns[name][0] for name, column in into.items() if name != "pending")
    return {name.replace(".", "_"): column.tolist() for name, column in into.items() if name != "pending"}


def test_counts_are_added() -> None:
    assert merged(fl.after(9), t_count=[2, 3, 4])["t_count"] == [5, 0, 4]


@pytest.mark.parametrize("trigger", [fl.after_delay("1 s"), fl.every("1 s")])
def test_the_earliest_moment_counts_and_unset_ones_do_not(trigger: Trigger) -> None:
    name = "t_since" if trigger == fl.after_delay("1 s") else "t_last"
    assert merged(trigger, **{name: [UNSET, 7, 9]})[name] == [7, UNSET, 9]
    assert merged(trigger, **{name: [5, 7, UNSET]})[name] == [5, UNSET, UNSET]


def test_what_one_of_them_finished_is_finished() -> None:
    assert merged(fl.after(1), t_done=[False, True, False])["t_done"] == [True, False, False]


def test_any_of_is_finished_by_one_part_and_all_of_by_every_part() -> None:
    """The first pane is made of two, each of which finished another part."""
    parts = {"t_0_done": [True, False, False], "t_1_done": [False, True, True]}
    assert merged(fl.any_of(fl.after(2), fl.after(3)), **parts)["t_done"] == [True, False, True]
    assert merged(fl.all_of(fl.after(2), fl.after(3)), **parts)["t_done"] == [True, False, False]


def test_in_order_is_finished_with_its_last_part() -> None:
    parts = {"t_0_done": [True, True, True], "t_1_done": [False, True, False]}
    assert merged(fl.in_order(fl.after(2), fl.after(3)), **parts)["t_done"] == [True, False, False]


def test_in_order_and_its_last_part_finish_each_in_a_column_of_its_own() -> None:
    node = build(fl.in_order(fl.after(2), fl.after(3)), Semantics())
    into = state(node, 3)
    node.merge(state(node, 3), OLDS, np.zeros(3, np.bool_), into)
    into["t.1.done"][0] = True
    assert into["t.done"].tolist() == [False, False, False]


def test_parts_without_any_state_are_merged_too() -> None:
    """A trigger that never fires keeps nothing, yet every new pane has to know that it has not finished."""
    assert merged(fl.any_of(fl.never(), fl.never())) == {"t_done": [False, False, False]}


def test_a_pane_is_past_its_close_if_all_it_is_made_of_are_and_its_window_is_closed() -> None:
    trigger = fl.at_watermark(late=fl.after(1))
    assert merged(trigger, [True] * 3, t_past=[True, False, True])["t_past"] == [False, False, True]
    assert merged(trigger, [True] * 3, t_past=[True, True, True])["t_past"] == [True, False, True]
    assert merged(trigger, [False] * 3, t_past=[True, True, True])["t_past"] == [False, False, False]


def test_past_its_close_a_pane_without_a_late_part_has_finished() -> None:
    found = merged(fl.at_watermark(late=None), [True] * 3, t_past=[True, True, False])
    assert (found["t_past"], found["t_done"]) == ([True, False, False], [True, False, False])
