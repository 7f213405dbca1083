"""What an n-way join keeps: only rows that a combination may need, in few chunks, however many bundles bring them."""

from __future__ import annotations

import pytest
from tests.properties.n_way_runs import NWayRun

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.interval import Interval
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Several
from fanlight.testing.oracle.join.n_way import NWayStep

MANY = 210
FAR = 15
"""How far rows may be apart that match, in microseconds."""
NAMES = ("o", "p", "s")
SPACES = ("input0", "input1", "input2")

every_join = pytest.mark.parametrize(
    ("how", "mode"),
    [(how, mode) for how in (JoinType.INNER, JoinType.LEFT) for mode in (EmissionMode.EAGER, EmissionMode.ON_CLOSE)],
    ids=lambda word: word.value,
)


def run_of(how: JoinType, mode: EmissionMode) -> NWayRun:
    followed = BoundedDisorder(Duration(5))
    sides = tuple(Side(name, "ts", TimeUnit.MICROSECONDS, ("k",)) for name in NAMES)
    near = Interval(Duration(-FAR), Duration(FAR))
    told = Several(tuple((name, followed) for name in ("p", "s", "o")))
    return NWayRun(NWayJoinSpec(sides, (near, near), (None, None), None, how, mode, watermark=told))


def step(second: int) -> NWayStep:
    """One order, one payment of it, and a shipment unless its number is a multiple of three."""
    row = {"ts": second, "k": second, "s": "a"}
    lead, other = {**row, "f": None, "v": second}, {**row, "g": None, "w": second}
    return NWayStep({"o": (lead,), "p": (other,), "s": ({**other, "k": second if second % 3 else -second - 1},)})


@every_join
def test_what_is_kept_does_not_grow_with_the_stream(how: JoinType, mode: EmissionMode) -> None:
    """An input keeps the rows of the interval and of the delay, a few times over in chunks that go as a whole."""
    run, most, chunks, left = run_of(how, mode), 0, 0, 0
    for second in range(MANY):
        left += len(run.step(step(second)).rows)
        most = max(most, run.held)
        chunks = max(chunks, sum(len(run.store.list(space)) for space in SPACES))
    assert most < 12 * (2 * FAR + 5)
    assert chunks < 40
    left += len(run.step(NWayStep(end=True)).rows)
    assert left == (MANY if how is JoinType.LEFT else MANY * 2 // 3)
    assert run.held == 0


@every_join
def test_a_null_key_takes_no_room_where_nothing_can_come_of_it(how: JoinType, mode: EmissionMode) -> None:
    """Only a row of the lead of a left join leaves without a match, and it waits as long as any other."""
    run = run_of(how, mode)
    nobody = {"ts": 3, "k": None, "s": "a"}
    other = {**nobody, "g": None, "w": 0}
    run.step(NWayStep({"o": ({**nobody, "f": None, "v": 0},), "p": (other,), "s": (other,)}))
    assert run.held == (1 if how is JoinType.LEFT else 0)
