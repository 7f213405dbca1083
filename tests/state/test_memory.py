"""The store in memory: steps are whole or never were, and a snapshot is the committed state."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.errors import StateError
from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address, ChunkStore

A, B, C = Address("partials", 0, 0), Address("partials", 0, 1), Address("records", -5, 0)


def chunk(number: int) -> pa.RecordBatch:
    return pa.record_batch({"n": [number]})


def content(store: MemoryStore) -> dict[Address, int]:
    addresses = [address for space in ("partials", "records") for address in store.list(space)]
    return {address: store.get(address).column("n")[0].as_py() for address in addresses}


def test_it_is_a_chunk_store() -> None:
    store: ChunkStore = MemoryStore()
    assert store.list("partials") == []


def test_reads_inside_a_step_see_what_the_step_changed() -> None:
    store = MemoryStore()
    store.put(A, chunk(1))
    store.put(A, chunk(2))
    store.put(B, chunk(3))
    store.delete(B)
    assert content(store) == {A: 2}
    assert len(store) == 1


def test_a_chunk_is_held_as_it_is() -> None:
    store, put = MemoryStore(), chunk(1)
    store.put(A, put)
    assert store.get(A) is put


def test_rollback_forgets_puts_overwrites_and_deletes_alike() -> None:
    store = MemoryStore()
    store.put(A, chunk(1))
    store.put(C, chunk(9))
    store.commit()
    store.put(A, chunk(2))
    store.put(B, chunk(3))
    store.delete(C)
    store.put(C, chunk(4))
    store.delete(A)
    store.rollback()
    assert content(store) == {A: 1, C: 9}
    store.rollback()
    assert content(store) == {A: 1, C: 9}


def test_what_is_absent_cannot_be_read_and_can_be_deleted() -> None:
    store = MemoryStore()
    with pytest.raises(StateError, match=r"No chunk is stored at partials/0/0.*Restore"):
        store.get(A)
    store.delete(A)
    store.commit()
    assert len(store) == 0


def test_addresses_are_listed_by_slice_and_sequence() -> None:
    store = MemoryStore()
    places = [(10, 0), (-10, 2), (2, 11), (2, 2), (-10, 0)]
    for slice_, sequence in places:
        store.put(Address("partials", slice_, sequence), chunk(0))
    assert [address[1:] for address in store.list("partials")] == sorted(places)


def test_the_list_is_the_callers_own() -> None:
    store = MemoryStore()
    for sequence in range(3):
        store.put(Address("partials", 0, sequence), chunk(sequence))
    for address in store.list("partials"):
        store.delete(address)
    store.list("partials").append(A)
    assert store.list("partials") == []


class TestSnapshots:
    def test_they_hold_the_committed_state_only(self) -> None:
        store = MemoryStore()
        store.put(A, chunk(1))
        store.put(C, chunk(5))
        store.commit()
        committed = store.snapshot()
        store.put(A, chunk(2))
        store.put(B, chunk(3))
        store.delete(C)
        assert store.snapshot() == committed
        assert content(MemoryStore.restore(committed)) == {A: 1, C: 5}
        assert content(store) == {A: 2, B: 3}

    def test_a_restored_store_begins_committed(self) -> None:
        store = MemoryStore()
        store.put(A, chunk(1))
        store.commit()
        back = MemoryStore.restore(store.snapshot({"positions": {"orders": 7}}))
        back.rollback()
        assert content(back) == {A: 1}
        assert back.metadata == {"positions": {"orders": 7}}

    def test_damage_is_a_state_error(self) -> None:
        with pytest.raises(StateError, match="truncated"):
            MemoryStore.restore(MemoryStore().snapshot()[:-1])


_ADDRESSES = st.builds(Address, st.sampled_from(["partials", "records"]), st.integers(-2, 2), st.integers(0, 2))
_CHANGES = st.one_of(
    st.tuples(st.just("put"), _ADDRESSES, st.integers(0, 9)),
    st.tuples(st.just("delete"), _ADDRESSES),
    st.tuples(st.sampled_from(["commit", "rollback", "snapshot"])),
)


@given(st.lists(_CHANGES, max_size=40))
def test_it_behaves_like_two_dicts(changes: list[tuple[Any, ...]]) -> None:
    store = MemoryStore()
    committed: dict[Address, int] = {}
    current: dict[Address, int] = {}
    for change in changes:
        match change:
            case ("put", address, number):
                store.put(address, chunk(number))
                current[address] = number
            case ("delete", address):
                store.delete(address)
                current.pop(address, None)
            case ("commit",):
                store.commit()
                committed = current.copy()
            case ("rollback",):
                store.rollback()
                current = committed.copy()
            case ("snapshot",):
                assert content(MemoryStore.restore(store.snapshot())) == committed
        assert content(store) == current
        assert len(store) == len(current)
        for space in ("partials", "records"):
            assert store.list(space) == sorted(address for address in current if address.space == space)
