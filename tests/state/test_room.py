"""Rooms: parts of one store that know nothing of each other, and end their steps together."""

from __future__ import annotations

import pyarrow as pa

from fanlight.state.memory import MemoryStore
from fanlight.state.room import Room
from fanlight.state.store import Address

PLACE = Address("sort", 0, 0)


def chunk(value: int) -> pa.RecordBatch:
    return pa.record_batch({"v": [value]})


def test_two_rooms_share_no_address() -> None:
    store = MemoryStore()
    left, right = Room(store, "left."), Room(store, "right.")
    left.put(PLACE, chunk(1))
    right.put(PLACE, chunk(2))
    left.commit()
    right.delete(PLACE)
    right.commit()
    assert left.get(PLACE) == chunk(1)
    assert right.list("sort") == []
    assert store.list("left.sort") == [left.outside(PLACE)]


def test_what_is_held_is_committed_by_the_store_alone() -> None:
    store = MemoryStore()
    room = Room(store, "1.", held=True)
    room.put(PLACE, chunk(1))
    room.commit()
    room.rollback()
    assert len(store) == 0
    room.put(PLACE, chunk(1))
    room.commit()
    store.commit()
    room.rollback()
    assert room.get(PLACE) == chunk(1)
