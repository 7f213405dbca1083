"""Live sessions by where they end: a step reads the buckets that it can need, and writes those that have changed.

Buckets are ten wide here: bucket 1 has the sessions that end from 10 to 19.
"""

from __future__ import annotations

import numpy as np
from tests.operators.window.watched_store import WatchedStore

from fanlight.operators.window.session.open_sessions import OpenSessions

from .test_runs import SHARD, runs, said

NONE = runs()
THREE = ((5, 15, "a"), (12, 22, "b"), (13, 28, "c"))


def opened(store: WatchedStore) -> OpenSessions:
    return OpenSessions(SHARD.plan, store, 10)


def kept(*rows: tuple[int, int, str | None]) -> WatchedStore:
    """A store that holds these sessions."""
    store = WatchedStore("panes")
    sessions = runs(*rows)
    opened(store).save([sessions], changed=[sessions.ends])
    store.commit()
    store.forget()
    return store


def names(rows: object) -> list[str | None]:
    return [row[2] for row in said(rows)]  # type: ignore[arg-type]


def test_a_session_is_in_the_bucket_it_ends_in() -> None:
    store = kept(*THREE)
    assert [address.part for address in store.list("panes")] == [1, 2]


def test_what_comes_reads_the_buckets_from_its_first_time_on() -> None:
    """What comes at 20 can meet no session that ends before it; whole buckets are read, so others may be among them."""
    store = kept(*THREE)
    assert names(opened(store).ending_from(20)) == ["b", "c"]
    assert store.read == [2]
    assert names(opened(store).ending_from(16)) == ["a", "b", "c"]


def test_what_expires_is_read_up_to_its_end_and_nothing_twice_in_a_step() -> None:
    store = kept(*THREE)
    sessions = opened(store)
    assert names(sessions.ending_by(19)) == ["a"]
    assert names(sessions.ending_by(25)) == ["b", "c"]
    assert names(sessions.ending_by(25)) == []
    assert store.read == [1, 2]


def test_after_it_has_saved_a_step_may_read_again() -> None:
    sessions = opened(kept(*THREE))
    sessions.ending_by(19)
    sessions.save([NONE], changed=[])
    assert names(sessions.ending_by(19)) == ["a"]


def test_only_buckets_in_which_something_changed_are_written() -> None:
    """The session of b has grown from 22 to 35: buckets 2 and 3 are written, and c stays in bucket 2."""
    store = kept(*THREE)
    sessions = opened(store)
    _, b, c = (sessions.ending_from(0).part(place, place + 1) for place in range(3))
    sessions.save([c, runs((12, 35, "b"))], changed=[b.ends, np.array([35])])
    assert sorted(store.written) == [2, 3]
    assert said(opened(store).everything()) == [(5, 15, "a", 1, 5), (13, 28, "c", 1, 13), (12, 35, "b", 1, 12)]


def test_a_bucket_that_nothing_is_left_in_is_deleted() -> None:
    store = kept(*THREE)
    sessions = opened(store)
    gone = sessions.ending_by(15)
    sessions.save([NONE], changed=[gone.ends])
    assert [address.part for address in store.list("panes")] == [2]
    assert names(sessions.ending_by(15)) == []


def test_ends_before_1970_have_buckets_too() -> None:
    store = kept((-25, -15, "a"), (-9, -1, "b"))
    assert [address.part for address in store.list("panes")] == [-2, -1]
    assert names(opened(store).ending_from(-10)) == ["b"]
    assert names(opened(store).ending_by(-11)) == ["a"]


def test_a_shard_that_starts_again_finds_them() -> None:
    assert said(opened(kept(*THREE)).everything()) == [(5, 15, "a", 1, 5), (12, 22, "b", 1, 12), (13, 28, "c", 1, 13)]


def test_nothing_kept_is_nothing_read() -> None:
    sessions = opened(WatchedStore("panes"))
    assert said(sessions.ending_from(0)) == said(sessions.ending_by(99)) == said(sessions.everything()) == []
    sessions.save([NONE], changed=[NONE.ends])
