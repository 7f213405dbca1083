"""A sink of a user's own: what it promises, and what Fanlight does for it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.errors import SinkError
from fanlight.sinks import Batch, BatchNote, BatchSink
from fanlight.sinks.batch import Part
from fanlight.sinks.sink import Sink
from fanlight.sinks.targets import sinks_of

from .orders_as_rows import ROWS, offered


class Shelf:
    """Batches in memory, with their notes."""

    def __init__(self, place: str = "the shelf") -> None:
        self.place = place
        self.taken: list[tuple[pa.Table, Batch]] = []
        self.notes: dict[str, BatchNote] = {}

    def newest(self, query: str) -> BatchNote | None:
        return self.notes.get(query)

    def take(self, rows: pa.Table, batch: Batch) -> None:
        self.taken.append((rows, batch))
        self.notes[batch.query] = batch.note

    @property
    def numbers(self) -> list[int]:
        return [batch.number for _, batch in self.taken]


def sink_for(shelf: BatchSink, **options: Any) -> Sink:
    (sink,) = sinks_of(ROWS, shelf, **options)
    return sink


def test_it_is_handed_every_batch_once_empty_ones_too() -> None:
    shelf = Shelf()
    for number in (0, 0, 1, 1, 2):
        sink_for(shelf).write(offered(ROWS, number, *[("a", number, 0.5)] * (number % 2), offsets=10 + number))
    assert shelf.numbers == [0, 1, 2]
    assert [len(rows) for rows, _ in shelf.taken] == [0, 1, 0]
    assert shelf.newest("q") == BatchNote(2, 12)


def test_it_has_the_dead_letters_and_the_accounting_with_the_rows() -> None:
    shelf = Shelf()
    sink = sink_for(shelf)
    sink.write(offered(ROWS, 0, ("a", 1, 0.5)))
    ((rows, batch),) = shelf.taken
    assert rows is batch.rows
    assert (len(batch.dead_letters), batch.accounting["received"].to_pylist()) == (0, [3])
    assert sink.places == dict.fromkeys(Part, "the shelf")


@pytest.mark.parametrize(
    ("number", "offsets", "said"),
    [
        (3, 0, "the shelf did not take batch 3 of query 'q': its newest batch is 1, .*batch 2 would be missing"),
        (0, 0, "the checkpoint has come to 0 only"),
        (1, 99, "it holds a batch 1 already that read other offsets"),
    ],
)
def test_a_batch_that_does_not_follow_is_refused_before_it_is_handed_over(number: int, offsets: int, said: str) -> None:
    shelf = Shelf()
    for first in (0, 1):
        sink_for(shelf).write(offered(ROWS, first, offsets=0))
    for offer in (sink_for(shelf).check, sink_for(shelf).write):
        with pytest.raises(SinkError, match=said):
            offer(offered(ROWS, number, offsets=offsets))
    assert shelf.numbers == [0, 1]
    sink_for(shelf).write(offered(ROWS, number, offsets=offsets, accepts=True))
    assert shelf.numbers == [0, 1, number]


def test_queries_are_told_apart() -> None:
    shelf = Shelf()
    for query in ("one", "two"):
        sink_for(shelf).write(offered(ROWS, 0, query=query))
    assert [batch.query for _, batch in shelf.taken] == ["one", "two"]


def test_what_it_raises_is_raised_as_it_is_and_the_batch_comes_again() -> None:
    class Full(Shelf):
        def take(self, rows: pa.Table, batch: Batch) -> None:
            raise OSError("no room on the shelf")

    with pytest.raises(OSError, match="no room on the shelf"):
        sink_for(Full()).write(offered(ROWS, 0))


def test_a_note_that_is_none_is_refused() -> None:
    class Forgetful(Shelf):
        def newest(self, query: str) -> Any:
            return 7

    with pytest.raises(SinkError, match=r"its newest\(\) gave 7, .* Return BatchNote\(number, offsets\)"):
        sink_for(Forgetful()).check(offered(ROWS, 0))


def test_each_part_may_go_to_a_sink_of_its_own_and_none_to_one_that_has_another() -> None:
    """One that takes two parts by itself would note the first, and skip the second as a repeat."""
    late = Shelf("the back shelf")
    sinks = sinks_of(ROWS, Shelf(), dead_letters=late, accounting=print)
    for sink in sinks:
        sink.check(offered(ROWS, 0))
    sinks[1].write(offered(ROWS, 0))
    assert [type(sink).__name__ for sink in sinks] == ["UserSink", "UserSink", "FunctionSink"]
    assert late.taken[0][0].schema == ROWS.dead_letters
    shelf = Shelf()
    with pytest.raises(fl.SpecError, match="rows and dead_letters would both go to the shelf"):
        sinks_of(ROWS, shelf, dead_letters=shelf)


def test_an_object_that_is_no_sink_is_told_what_it_lacks() -> None:
    with pytest.raises(fl.SpecError, match=r"a Table is no target for rows; for a sink of your own it lacks place and"):
        sinks_of(ROWS, pa.table({"a": [1]}))


def test_upserts_are_its_own_affair() -> None:
    with pytest.raises(fl.SpecError, match="only databases do, and the shelf takes every row as it comes"):
        sinks_of(ROWS, Shelf(), unique="id")
