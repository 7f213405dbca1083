"""What old panes hand on to those that take their place: content, pending records, triggers; never their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from tests.operators.window.accepting import Shard

import fanlight as fl
from fanlight.kernels.grouping.groups import Groups
from fanlight.model.firing import Accumulation
from fanlight.operators.window.firing.evaluate_triggers import TriggerEvaluator
from fanlight.operators.window.firing.pane_table import PaneTable
from fanlight.operators.window.step_time import StepTime
from fanlight.operators.window.unaligned.assignment import handed_on
from fanlight.operators.window.unaligned.end_buckets import OWN

SHARD = Shard(fl.session("5 us"), {"trigger": fl.repeat(fl.after(9)), "accumulation": Accumulation.RETRACTING})
EVALUATOR = TriggerEvaluator(SHARD.plan, None, OWN)


def panes(*bounds: tuple[int, int], **state: list[Any]) -> PaneTable:
    """Panes of a with these bounds; what is not said of their state is as in new ones."""
    ends = np.array([end for _, end in bounds], np.int64)
    table = EVALUATOR.shape.fresh(ends, [pa.array(["a"] * len(bounds))])
    table.state["start"] = np.array([start for start, _ in bounds], np.int64)
    for name, column in state.items():
        table.state[name.replace("_", ".") if "_" in name else name] = np.array(column)
    return table


def holding(table: PaneTable, *values: int) -> PaneTable:
    """The same panes, each of which holds one record of this value."""
    numbers = np.array(values)
    alone = Groups(np.arange(len(values)), len(values))
    table.partials = SHARD.plan.aggregation.partial([None, pa.array(numbers)], numbers, alone, None)
    return table


def at(closed_before: int = 0) -> StepTime:
    return StepTime(0, 0, closed_before, closed_before, 0, 0, 0)


def values(table: PaneTable) -> list[tuple[int, int | None]]:
    """Count and sum of each pane."""
    columns = SHARD.plan.aggregation.finish(table.partials)
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def test_content_pending_records_and_trigger_state_add_up() -> None:
    """[1, 6) and [4, 9) become [1, 9); [20, 25) is new."""
    olds = holding(panes((1, 6), (4, 9), pending=[1, 2], t_0_count=[3, 4]), 10, 20)
    fresh, gone = handed_on(SHARD.plan, EVALUATOR, panes((1, 9), (20, 25)), olds, np.array([0, 0]), at())
    assert values(fresh) == [(2, 30), (0, None)]
    assert fresh.state["pending"].tolist() == [3, 0]
    assert fresh.state["t.0.count"].tolist() == [7, 0]
    assert gone.tolist() == [True, True]


def test_numbers_begin_anew_in_another_pane_and_go_on_in_the_same() -> None:
    """[1, 6) becomes [1, 9) and begins anew; [20, 25) keeps its bounds and is the pane it was."""
    olds = holding(panes((1, 6), (20, 25), index=[4, 5], revision=[2, 3]), 10, 20)
    fresh, gone = handed_on(SHARD.plan, EVALUATOR, panes((1, 9), (20, 25)), olds, np.array([0, 1]), at())
    assert fresh.state["index"].tolist() == [0, 5]
    assert fresh.state["revision"].tolist() == [0, 3]
    assert gone.tolist() == [True, False]


def test_one_of_two_that_has_the_bounds_of_the_new_one_is_merged_all_the_same() -> None:
    olds = holding(panes((1, 9), (4, 8), index=[4, 1]), 10, 20)
    fresh, gone = handed_on(SHARD.plan, EVALUATOR, panes((1, 9)), olds, np.array([0, 0]), at())
    assert fresh.state["index"].tolist() == [0]
    assert gone.tolist() == [True, True]


def test_what_the_same_pane_has_shown_it_can_take_back() -> None:
    olds = holding(panes((1, 6), (20, 25)), 10, 20)
    olds.shown = [pa.array([1, 2]), pa.array([10, 20])]
    fresh, _ = handed_on(SHARD.plan, EVALUATOR, panes((1, 9), (20, 25)), olds, np.array([0, 1]), at())
    assert [column.to_pylist() for column in fresh.shown] == [[None, 2], [None, 20]]


def test_pending_records_that_came_in_time_are_held_for_the_on_time_firing_of_a_closed_window() -> None:
    """At 7 windows up to 7 were closed: [1, 6) was, [4, 9) was not, so what waits there came in time.

    The first new window, [1, 7), is closed, the second is not: there nothing need be held.
    """
    olds = holding(panes((1, 6), (4, 9), (30, 40), pending=[1, 1, 1]), 1, 1, 1)
    fresh, _ = handed_on(SHARD.plan, EVALUATOR, panes((1, 7), (30, 50)), olds, np.array([0, 0, 1]), at(closed_before=7))
    assert fresh.state["held"].tolist() == [True, False]
    late = holding(panes((1, 6), pending=[1]), 1)
    fresh, _ = handed_on(SHARD.plan, EVALUATOR, panes((1, 7)), late, np.array([0]), at(closed_before=7))
    assert fresh.state["held"].tolist() == [False]


def test_what_was_held_already_is_held_on() -> None:
    olds = holding(panes((1, 6), pending=[1], held=[True]), 1)
    fresh, _ = handed_on(SHARD.plan, EVALUATOR, panes((1, 7)), olds, np.array([0]), at(closed_before=7))
    assert fresh.state["held"].tolist() == [True]


def test_no_old_panes_hand_on_nothing() -> None:
    fresh, gone = handed_on(SHARD.plan, EVALUATOR, panes((1, 6)), panes(), np.zeros(0, np.int64), at())
    assert values(fresh) == [(0, None)]
    assert gone.tolist() == []
