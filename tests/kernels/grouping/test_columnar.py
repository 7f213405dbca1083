"""Tables of every kind of column: taken from, cut and joined, all columns keep to the same rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from fanlight.kernels.grouping.columnar import FOR_ALL, Columnar
from fanlight.kernels.grouping.groups import Ints, repeated


@dataclass(frozen=True, slots=True)
class Inner(Columnar):
    """A table in a table."""

    numbers: Ints


@dataclass(frozen=True, slots=True)
class Every(Columnar):
    """One field of each kind. Every column has a row's number, so that it can be asked which row it is of."""

    numbers: Ints
    names: pa.Array
    keys: list[pa.Array]
    state: dict[str, NDArray[Any]]
    inner: Inner
    sometimes: Ints | None
    never: Ints | None
    once: Ints
    title: str = field(metadata=FOR_ALL)


@dataclass(frozen=True, slots=True)
class More(Every):
    """The same with one more column."""

    last: Ints


def table(count: int, start: int = 0, title: str = "first") -> Every:
    """The rows that are numbered from `start` on."""
    rows = np.arange(start, start + count)
    return Every(
        rows,
        pa.array([str(row) for row in rows.tolist()], pa.string()),
        [pa.array(rows), pa.array([f"k{row}" for row in rows.tolist()], pa.string())],
        {"count": rows.astype(np.float64), "is_odd": rows % 2 == 1},
        Inner(rows),
        rows,
        None,
        repeated(np.array([7]), count),
        title,
    )


def rows_of(found: Every) -> list[int]:
    """Which rows a table has, as all of its columns say."""
    rows = found.numbers.tolist()
    assert found.names.to_pylist() == [str(row) for row in rows]
    assert [column.to_pylist() for column in found.keys] == [rows, [f"k{row}" for row in rows]]
    assert found.state["count"].tolist() == rows
    assert found.state["is_odd"].tolist() == [row % 2 == 1 for row in rows]
    assert found.inner.numbers.tolist() == rows
    assert found.sometimes is not None
    assert found.sometimes.tolist() == rows
    assert found.never is None
    assert found.once.tolist() == [7] * len(rows)
    assert len(found) == len(rows)
    return rows


def kinds_of(found: Every) -> list[Any]:
    """The types of all columns."""
    arrow = [found.names.type, *(column.type for column in found.keys)]
    return [*arrow, found.numbers.dtype, *(column.dtype for column in found.state.values()), found.inner.numbers.dtype]


@given(st.integers(0, 6), st.data())
def test_rows_are_taken_in_any_order_and_more_than_once(count: int, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, count - 1))) if count else []
    taken = table(count).take(np.array(places, np.int64))
    assert (rows_of(taken), taken.title) == (places, "first")
    assert kinds_of(taken) == kinds_of(table(1))


@given(st.lists(st.booleans()))
def test_a_mask_keeps_its_rows(mask: list[bool]) -> None:
    kept = table(len(mask)).where(np.array(mask, np.bool_))
    assert (rows_of(kept), kept.title) == ([row for row, is_kept in enumerate(mask) if is_kept], "first")
    assert kinds_of(kept) == kinds_of(table(1))


def test_a_mask_that_keeps_all_rows_makes_nothing_new() -> None:
    every = table(3)
    assert every.where(np.ones(3, np.bool_)) is every


@given(st.integers(0, 6), st.data())
def test_a_part_is_the_rows_between_two(count: int, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, count))
    end = data.draw(st.integers(start, count))
    part = table(count).part(start, end)
    assert (rows_of(part), part.title) == (list(range(start, end)), "first")


def test_a_part_is_a_view() -> None:
    every = table(6)
    part = every.part(2, 4)
    assert np.shares_memory(part.numbers, every.numbers)
    assert np.shares_memory(part.inner.numbers, every.inner.numbers)
    assert part.names.buffers()[2].address == every.names.buffers()[2].address


@given(st.lists(st.integers(0, 3), min_size=1))
def test_tables_stand_one_after_the_other(counts: list[int]) -> None:
    starts = np.cumsum([0, *counts]).tolist()
    joined = Every.concat([table(count, start) for count, start in zip(counts, starts, strict=False)])
    assert rows_of(joined) == list(range(sum(counts)))
    assert kinds_of(joined) == kinds_of(table(1))


def test_of_several_tables_the_first_that_has_rows_says_what_is_for_all() -> None:
    first, second = table(2, 0, "first"), table(2, 2, "second")
    assert Every.concat([table(0, 0, "empty"), first, second]).title == "first"


def test_one_table_among_empty_ones_is_that_table() -> None:
    every, nothing = table(2), table(0)
    assert Every.concat([nothing, every, nothing]) is every
    assert Every.concat([nothing, table(0)]) is nothing


def test_a_number_that_is_kept_once_is_kept_once_again() -> None:
    """Its rows all lie in one place: the next one is no byte further."""
    every = table(3)
    found = [every.take(np.array([2, 0])), every.part(1, 3), Every.concat([every, table(2, 3)])]
    assert [each.once.strides for each in found] == [(0,), (0,), (0,)]


def test_numbers_that_are_kept_once_and_differ_are_kept_one_by_one() -> None:
    seven, eight = (Inner(repeated(np.array([number]), 2)) for number in (7, 8))
    assert Inner.concat([seven, eight]).numbers.tolist() == [7, 7, 8, 8]


def test_what_is_made_of_a_table_is_of_its_kind() -> None:
    rows = table(2)
    more = More(*(getattr(rows, name) for name in Every.__slots__), last=rows.numbers)
    for found in (more.take(np.array([1])), more.where(np.array([False, True])), more.part(1, 2)):
        assert isinstance(found, More)
        assert (rows_of(found), found.last.tolist()) == ([1], [1])


def test_tables_of_a_narrower_kind_are_joined_as_the_wider() -> None:
    """Where a table has a column more than those it is joined with, what is joined goes without it."""
    rows = table(2)
    more = More(*(getattr(rows, name) for name in Every.__slots__), last=rows.numbers)
    joined = Every.concat([more, table(1, 2)])
    assert (type(joined), rows_of(joined)) == (Every, [0, 1, 2])


def test_a_table_may_have_no_keys() -> None:
    @dataclass(frozen=True, slots=True)
    class Keyless(Columnar):
        numbers: Ints
        keys: list[pa.Array]

    rows = Keyless(np.arange(3), [])
    assert Keyless.concat([rows.take(np.array([2])), rows.part(0, 1)]).numbers.tolist() == [2, 0]
    assert rows.where(np.zeros(3, np.bool_)).keys == []
