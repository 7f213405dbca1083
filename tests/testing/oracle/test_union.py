"""The oracle of several inputs, against what the law says in words, worked out by hand."""

from __future__ import annotations

import pytest

import fanlight as fl
from fanlight.model.time.timestamp import END_OF_TIME, LATEST, START_OF_TIME
from fanlight.model.time.watermarks import Combine, Several
from fanlight.testing.oracle.union import UnionOracle, union_steps
from fanlight.testing.script import InputScript, Record

Bundle = tuple[Record, ...]


def at(*times: int | None) -> Bundle:
    return tuple({"ts": time} for time in times)


def union(combine: Combine = Combine.MIN, idle: int | None = None) -> UnionOracle:
    said: dict[str, fl.BoundedDisorder] = {"web": fl.bounded_disorder("2 us"), "shop": fl.bounded_disorder("0 us")}
    strategy = fl.several(dict(said), combine=combine, idle=None if idle is None else f"{idle} us")
    assert isinstance(strategy, Several)
    return UnionOracle(strategy)


def test_records_stand_in_the_order_of_the_inputs_and_say_theirs() -> None:
    step = union().step({"shop": at(1), "web": at(5, 3)})
    assert [(record["ts"], record["input"]) for record in step.records] == [(5, "web"), (3, "web"), (1, "shop")]


def test_the_least_counts_once_all_have_spoken_each_with_its_delay() -> None:
    oracle = union()
    assert oracle.step({"web": at(10), "shop": ()}).watermark == START_OF_TIME
    assert oracle.step({"web": (), "shop": at(9)}).watermark == 8
    assert oracle.step({"web": at(3), "shop": at(30)}).watermark == 8


def test_a_time_that_cannot_be_read_is_not_spoken() -> None:
    assert union().step({"web": at(10), "shop": at(None, LATEST + 1)}).watermark == START_OF_TIME


def test_the_greatest_counts_and_an_end_moves_nothing() -> None:
    oracle = union(Combine.MAX)
    assert oracle.step({"web": at(10), "shop": ()}).watermark == 8
    assert oracle.step({"web": None, "shop": at(5)}).watermark == 8
    assert oracle.step({"web": None, "shop": None}).watermark == 8


def test_with_the_least_one_that_has_ended_is_none_any_more() -> None:
    oracle = union()
    oracle.step({"web": at(10), "shop": at(4)})
    assert oracle.step({"web": at(20), "shop": None}).watermark == 18
    assert oracle.step({"web": None, "shop": None}).watermark == END_OF_TIME


def test_idle_ones_are_left_out_and_where_all_are_the_greatest_counts() -> None:
    oracle = union(idle=5)
    oracle.step({"web": at(10), "shop": at(4)}, clock=100)
    assert oracle.step({"web": at(20), "shop": ()}, clock=104).watermark == 4
    assert oracle.step({"web": at(21), "shop": ()}, clock=105).watermark == 19
    assert oracle.step({"web": (), "shop": at(50)}, clock=106).watermark == 19, "back, and ahead of the web"
    assert oracle.step({"web": (), "shop": ()}, clock=200).watermark == 50


def test_where_one_has_ended_and_the_other_is_idle_that_one_says_how_far_it_is() -> None:
    oracle = union(idle=5)
    oracle.step({"web": at(10), "shop": at(4)}, clock=100)
    assert oracle.step({"web": None, "shop": ()}, clock=200).watermark == 4


def test_silence_is_counted_from_the_first_clock() -> None:
    oracle = union(idle=5)
    oracle.step({"web": at(10), "shop": ()}, clock=None)
    assert oracle.step({"web": at(11), "shop": ()}, clock=100).watermark == START_OF_TIME
    assert oracle.step({"web": at(12), "shop": ()}, clock=105).watermark == 10


def test_the_steps_of_a_script_have_the_next_bundle_of_each_at_the_greatest_clock() -> None:
    scripts = {"web": InputScript((at(10), at(20)), (1, 7)), "shop": InputScript((at(4),), (3,))}
    steps = union_steps(union().strategy, scripts)
    assert [(len(step.records), step.watermark, step.clock) for step in steps] == [
        (2, 4, 3),
        (1, 18, 7),
        (0, None, None),
    ]
    assert steps[-1].end


@pytest.mark.parametrize("other", [fl.Explicit(), fl.stream_time(), fl.fixed_distance("1 s")])
def test_other_watermarks_are_not_read_here(other: fl.Explicit | fl.BoundedDisorder | fl.FixedDistance) -> None:
    with pytest.raises(fl.SpecError, match="of 'web' must be its greatest time, less a delay"):
        UnionOracle(fl.several({"web": other}))
