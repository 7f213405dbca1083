"""An interrupt leaves an operator before the step or after it: who repeats the step gets what was to come.

Offsets make the repetition safe: if the step was done, its records are duplicates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fanlight as fl

from .interrupting import CtrlC, lines
from .orders import BY_HAND, S, order

COUNTS = {"n": fl.count(), "total": fl.sum("v")}
HOPPING = fl.hopping("20 s", "10 s")
PIPELINES: dict[str, fl.WindowSpec] = {
    "tumbling, once": BY_HAND.window(fl.tumbling("10 s")).agg(**COUNTS).spec,
    "hopping, once": BY_HAND.window(HOPPING).agg(**COUNTS, seen=fl.median("v")).spec,
    "hopping, corrected": BY_HAND.window(HOPPING, lateness="30 s").retracting().agg(**COUNTS).spec,
    "sessions, once": BY_HAND.window(fl.session("5 s")).agg(**COUNTS).spec,
    "sessions, corrected": BY_HAND.window(fl.session("5 s"), lateness="30 s").retracting().agg(**COUNTS).spec,
    "sliding": BY_HAND.window(fl.sliding("5 s")).agg(**COUNTS).spec,
}
STEPS: list[tuple[list[dict[str, Any]], int]] = [
    ([order(1), order(12), order(3, k="soy"), order(None)], 5),
    ([order(7), order(14), order(28), order(4, k="soy")], 12),
    ([order(13), order(2), order(17), order(None), order(31)], 22),  # late ones, closing ones, and a dead letter
    ([order(25), order(40), order(9)], 45),
]
BROKEN = 2
"""The step that is interrupted: panes fire, are corrected and expire, and a record is a dead letter."""


def step(operator: fl.WindowOperator, number: int) -> None:
    records, watermark = STEPS[number]
    operator.add(records, offset=100 * number, watermark=watermark * S, clock=number * S)


def busy(spec: fl.WindowSpec) -> fl.WindowOperator:
    operator = fl.WindowOperator(spec)
    for number in range(BROKEN):
        step(operator, number)
    return operator


def rest(operator: fl.WindowOperator) -> list[Any]:
    """Everything there is to see of an operator, from the interrupted step on."""
    for number in range(BROKEN, len(STEPS)):
        step(operator, number)
    seen = [operator.windows(), operator.dead_letters]
    operator.end()
    counts = operator.accounting
    assert counts.adds_up
    tables = [*seen, operator.take(), operator.windows()]
    return [counts.accepted, counts.dead_letters, operator.watermark, *(table.to_pylist() for table in tables)]


def sweep(spec: fl.WindowSpec, apart: int, work: Callable[[fl.WindowOperator], object]) -> int:
    """Interrupt `work` at lines so far apart, and go on; how many lines it has."""
    written, expected, reached = busy(spec).snapshot(), rest(busy(spec)), 0
    for line in lines(apart):
        operator = fl.WindowOperator.restore(spec, written)
        again = line // 3 % 60 + 1 if line % 3 == 0 else None  # at times once more, somewhere in what follows
        if not CtrlC(line, again).during(lambda operator=operator: work(operator)):
            break
        if line % 4 == 0:
            operator = fl.WindowOperator.restore(spec, operator.snapshot())
        assert rest(operator) == expected, f"interrupted at line {line}, again {again}"
        reached = line
    return reached


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_step_that_is_interrupted_can_be_repeated(pipeline: str) -> None:
    """Every line in `make thorough`, which is some 2,000 of them; else every 17th."""
    assert sweep(PIPELINES[pipeline], 17, lambda operator: step(operator, BROKEN)) > 500


@pytest.mark.parametrize("call", ["advance", "results", "windows", "snapshot"])
def test_other_calls_that_are_interrupted_change_nothing(call: str) -> None:
    """A watermark that was told already moves nothing, so it may be told again."""
    options = {"advance": {"watermark": 12 * S}}.get(call, {})
    spec = PIPELINES["hopping, corrected"]
    assert sweep(spec, 11, lambda operator: getattr(operator, call)(**options)) > 0


def test_an_end_that_is_interrupted_can_be_repeated() -> None:
    spec = PIPELINES["hopping, corrected"]
    written, whole = busy(spec).snapshot(), busy(spec)
    whole.end()
    expected = whole.take().to_pylist()
    for line in lines(13):
        operator = fl.WindowOperator.restore(spec, written)
        if not CtrlC(line).during(operator.end):
            break
        operator.end()
        assert operator.take().to_pylist() == expected, f"interrupted at line {line}"
    assert line > 100


def test_the_very_first_step_may_be_interrupted() -> None:
    """Time has passed before it, and the columns are not known yet."""

    def started() -> fl.WindowOperator:
        operator = fl.WindowOperator(PIPELINES["tumbling, once"])
        operator.advance(watermark=10 * S, clock=3 * S)
        return operator

    def seen(operator: fl.WindowOperator) -> list[Any]:
        step(operator, 0)
        letters = operator.dead_letters.to_pylist()
        operator.end()
        return [operator.accounting.accepted, operator.clock, letters, operator.take().to_pylist()]

    expected = seen(started())
    assert [letter["reason"] for letter in expected[2]] == ["null_time", "expired", "expired"]
    for line in lines(7):
        operator = started()
        if not CtrlC(line).during(lambda operator=operator: step(operator, 0)):
            break
        assert seen(operator) == expected, f"interrupted at line {line}"
    assert line > 100


def test_the_downstream_misses_nothing() -> None:
    """What it was given when the interrupt came may be given to it again, and is the same then."""
    spec = PIPELINES["hopping, corrected"]
    taken: list[Any] = []

    def listening(data: bytes | None = None) -> fl.WindowOperator:
        def hear(batch: Any) -> None:
            taken.append(batch.to_pylist())

        if data is None:
            return fl.WindowOperator(spec, downstream=hear)
        return fl.WindowOperator.restore(spec, data, downstream=hear)

    operator = listening()
    for number in range(BROKEN):
        step(operator, number)
    written = operator.snapshot()
    taken.clear()
    rest(operator)
    expected = list(taken)
    for line in lines(17):
        taken.clear()
        operator = listening(written)
        if not CtrlC(line).during(lambda operator=operator: step(operator, BROKEN)):
            break
        rest(operator)
        once = [batch for place, batch in enumerate(taken) if place == 0 or batch != taken[place - 1]]
        assert once == expected, f"interrupted at line {line}"
    assert line > 100
