"""Records kept one by one by time: what a step appends waits, what is needed no more is forgotten by whole slices.

Slices are ten wide here: slice 1 has the records from 10 to 19.
"""

from __future__ import annotations

import numpy as np
from tests.operators.window.accepting import Record, Shard
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.operators.window.sliding.row_log import LoggedRows, RowLog, SortedRows

SHARD = Shard(fl.sliding("5 us"))


def logged(*records: Record) -> LoggedRows:
    return LoggedRows.of(SHARD.plan, SHARD.accepted(*records))


def said(rows: LoggedRows) -> list[Record]:
    return list(zip(rows.times.tolist(), rows.keys[0].to_pylist(), strict=True))


def opened(store: WatchedStore) -> RowLog:
    return RowLog(SHARD.plan, store, 10)


def written(*records: Record) -> WatchedStore:
    """A store to which a step has written these records."""
    store = WatchedStore("atoms")
    log = opened(store)
    log.append(logged(*records))
    log.retire(-100)
    store.commit()
    store.forget()
    return store


def slices(store: WatchedStore) -> list[int]:
    return sorted({address.part for address in store.list("atoms")})


def test_each_record_is_a_row_of_partials() -> None:
    """One record each: a count of one, and its own value as the sum."""
    rows = logged((3, "a"), (3, "b"))
    assert rows.partials.rows.tolist() == [1, 1]
    assert [column.to_pylist() for column in SHARD.plan.aggregation.finish(rows.partials)] == [[1, 1], [3, 3]]


def test_what_waits_is_read_before_it_is_written() -> None:
    store = WatchedStore("atoms")
    log = opened(store)
    log.append(logged((12, "a"), (5, "b")))
    assert said(log.between(0, 100)) == [(12, "a"), (5, "b")]
    assert store.written == []


def test_what_is_left_when_a_step_retires_is_written_by_slice() -> None:
    """25 is in slice 2; 12 and 14 are in slice 1; 5 is forgotten before it was ever written."""
    store = WatchedStore("atoms")
    log = opened(store)
    log.append(logged((25, "a"), (12, "b"), (5, "a"), (14, "a")))
    log.retire(10)
    assert sorted(store.written) == [1, 2]
    assert said(log.between(0, 100)) == [(12, "b"), (14, "a"), (25, "a")]


def test_between_two_times_are_those_from_the_first_up_to_the_last() -> None:
    store = written((9, "a"), (10, "a"), (14, "b"), (15, "c"), (30, "a"))
    assert said(opened(store).between(10, 15)) == [(10, "a"), (14, "b")]
    assert store.read == [1]


def test_around_two_times_there_may_be_others_and_it_is_said_which() -> None:
    store = written((10, "a"), (14, "b"), (15, "c"))
    found, inside = opened(store).around(10, 15)
    assert said(found) == [(10, "a"), (14, "b"), (15, "c")]
    assert inside is not None
    assert inside.tolist() == [True, True, False]
    assert opened(store).around(10, 20)[1] is None


def test_records_of_one_time_stay_in_the_order_they_came() -> None:
    store = written((12, "first"), (12, "second"))
    log = opened(store)
    log.append(logged((12, "third")))
    assert [key for _, key in said(log.between(12, 13))] == ["first", "second", "third"]


def test_whole_slices_are_forgotten_and_others_stay_whole() -> None:
    """Before 25 nothing is needed: slices 0 and 1 go, and 21 stays with its slice."""
    store = written((5, "a"), (12, "a"), (21, "a"), (29, "a"))
    log = opened(store)
    log.retire(25)
    assert slices(store) == [2]
    assert said(log.between(0, 100)) == [(21, "a"), (29, "a")]


def test_slices_before_1970_are_slices_like_others() -> None:
    store = written((-1, "a"), (-10, "b"), (-11, "c"))
    assert slices(store) == [-2, -1]
    assert said(opened(store).between(-10, 0)) == [(-1, "a"), (-10, "b")]


def test_a_crowded_slice_is_written_as_one_chunk() -> None:
    """Fifty steps bring one record each to slice 1; there are never more chunks than a slice may have."""
    store = WatchedStore("atoms")
    log = opened(store)
    for step in range(50):
        log.append(logged((10 + step % 10, str(step))))
        log.retire(0)
        assert len(store.list("atoms")) <= 16
    assert len(said(opened(store).between(10, 20))) == 50


def test_rows_are_sorted_by_key_and_time() -> None:
    rows = SortedRows.of(logged((7, "b"), (9, "a"), (3, "b"), (3, "a")))
    keys = rows.found.take(rows.codes)[0].to_pylist()
    assert list(zip(keys, rows.times.tolist(), strict=True)) == [("a", 3), ("a", 9), ("b", 3), ("b", 7)]
    assert rows.order.tolist() == [3, 1, 2, 0]


def test_of_rows_in_order_only_those_that_are_kept() -> None:
    rows = SortedRows.of(logged((7, "b"), (9, "a"), (3, "b")), np.array([True, False, True]))
    assert rows.times.tolist() == [3, 7]
    assert rows.order.tolist() == [2, 0]
