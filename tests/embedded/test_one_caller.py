"""One caller at a time: who comes second is told so at once, and nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.embedded.standalone import Turnstile, alone

from .orders import BY_HAND, TOTALS, S, counts, order, said

CALLS: dict[str, Callable[[fl.WindowOperator], object]] = {
    "add": lambda operator: operator.add([order(2)]),
    "advance": lambda operator: operator.advance(watermark=10 * S),
    "end": lambda operator: operator.end(),
    "results": lambda operator: operator.results(),
    "flush": lambda operator: operator.flush(),
    "take": lambda operator: operator.take(),
    "dead_letters": lambda operator: operator.dead_letters,
    "take_dead_letters": lambda operator: operator.take_dead_letters(),
    "windows": lambda operator: operator.windows(),
    "messages": lambda operator: operator.messages(),
    "snapshot": lambda operator: operator.snapshot(),
    "accounting": lambda operator: operator.accounting,
    "watermark": lambda operator: operator.watermark,
    "clock": lambda operator: operator.clock,
}
LOOKS = {"accounting", "watermark", "clock"}


@contextmanager
def another_thread_inside() -> Iterator[fl.WindowOperator]:
    """An operator that another thread is adding to, for as long as the block lasts."""
    entered, leave = threading.Event(), threading.Event()

    def wait(batch: pa.RecordBatch) -> pa.RecordBatch:
        entered.set()
        leave.wait()
        return batch

    operator = fl.WindowOperator(TOTALS.spec, before_process=wait)
    other = threading.Thread(target=lambda: operator.add([order(1)], watermark=5 * S), name="reader")
    other.start()
    entered.wait()
    try:
        yield operator
    finally:
        leave.set()
        other.join()


@pytest.mark.parametrize("call", CALLS)
def test_a_second_thread_is_refused_and_the_first_goes_on(call: str) -> None:
    with another_thread_inside() as operator:
        with pytest.raises(fl.EngineError, match=rf"{call}: the thread 'reader' is inside `add`") as refused:
            CALLS[call](operator)
        assert "a lock of your own" in str(refused.value)
        assert "an operator of its own" in str(refused.value)
    assert counts(operator) == (1, 1, 0, 0)
    operator.end()
    assert said(operator.take()) == [("tea", 0, "ON_TIME", 1)]


def test_threads_that_take_turns_are_welcome() -> None:
    """With a lock of their own, four threads add 25 records each, and none is lost."""
    operator, lock = TOTALS.operator(), threading.Lock()

    def work() -> None:
        for _ in range(25):
            with lock:
                operator.add([order(1)])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    operator.end()
    assert said(operator.take()) == [("tea", 0, "ON_TIME", 100)]


def test_threads_without_a_lock_lose_nothing_either() -> None:
    """Every record was added, or its thread was told that it was not."""
    operator, refused = TOTALS.operator(), []

    def work() -> None:
        for _ in range(100):
            try:
                operator.add([order(1)])
            except fl.EngineError as error:
                refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    operator.end()
    assert sum(operator.take().column("n").to_pylist()) + len(refused) == 400


class TestACallInsideACall:
    """A hook, the downstream or an aggregate may look at the operator, and do nothing to it."""

    def calling(self, call: str, answers: list[Any]) -> fl.WindowOperator:
        """An operator whose downstream makes a call of its own, once."""

        def downstream(batch: pa.RecordBatch) -> None:
            if not answers:
                answers.append(None)
                answers.append(CALLS[call](operator))

        spec = BY_HAND.window(fl.tumbling("10 s")).agg(n=fl.count()).spec
        operator = fl.WindowOperator(spec, downstream=downstream)
        operator.add([order(1)])
        return operator

    @pytest.mark.parametrize("call", sorted(CALLS.keys() - LOOKS))
    def test_it_is_refused_and_what_fired_waits(self, call: str) -> None:
        operator = self.calling(call, [])
        with pytest.raises(fl.EngineError, match=rf"{call}: it was called inside `advance` of the same operator"):
            operator.advance(watermark=10 * S)
        assert operator.results().column("n").to_pylist() == [1]
        operator.advance()  # offered again
        assert operator.results().num_rows == 0

    @pytest.mark.parametrize("call", sorted(LOOKS))
    def test_looking_is_allowed(self, call: str) -> None:
        answers: list[Any] = []
        operator = self.calling(call, answers)
        operator.advance(watermark=10 * S, clock=3 * S)
        assert answers[1] == CALLS[call](operator)


class Desk:
    """Something that is used by one caller at a time, and can be left without a word."""

    def __init__(self) -> None:
        self._turnstile = Turnstile()
        self.served = self.put_in_order = 0

    def _recover(self) -> None:
        self.put_in_order += 1

    @alone
    def serve(self) -> None:
        self.served += 1

    def vanish(self) -> None:
        """As one who is interrupted between the way in and the work, or between the work and the way out."""
        self._turnstile.enter("serve")


def test_who_was_interrupted_on_the_way_in_or_out_keeps_nobody_out() -> None:
    """The thread that was inside is gone, and has not said so; then the same thread is."""
    desk = Desk()
    other = threading.Thread(target=desk.vanish)
    other.start()
    other.join()
    desk.serve()
    desk.vanish()
    desk.serve()
    assert (desk.served, desk.put_in_order) == (2, 2)
