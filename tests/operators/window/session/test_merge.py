"""What comes to sessions: judged, folded, and joined with the live sessions of its keys. The gap is five.

live a    [1-----8)
a at 6        [6---11)       one session: [1, 11)
a at 8          [8---13)     another, unless those that meet are one
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.operators.window.accepting import Record, Shard, told

import fanlight as fl
from fanlight.model.semantics import LateSessions, Semantics
from fanlight.model.time.duration import Duration
from fanlight.operators.window.session.merge import Coming, GatheredSessions, Live, SessionMerge

from .test_runs import runs

Bounds = tuple[str | None, int, int]
"""Key, start and end."""


def live(*sessions: Bounds) -> Live:
    keys = [pa.array([key for key, _, _ in sessions], pa.string())]
    starts, ends = (np.array([session[side] for session in sessions], np.int64) for side in (1, 2))
    return Live(keys, starts, ends)


class Merging:
    """A merge of sessions, and what it makes of records."""

    def __init__(self, *, touching: bool = False, **fields: Any) -> None:
        kind = fl.session("5 us", touching=touching)
        self.shard = Shard(kind, fields)
        self.merge = SessionMerge(self.shard.plan, kind, self.shard.lateness, self.shard.books)

    def coming(self, *records: Record, watermark: int = 0) -> Coming:
        return self.merge.read(self.shard.accepted(*records, watermark=watermark), None)

    def gather(self, *records: Record, sessions: Live | None = None, watermark: int = 0) -> GatheredSessions:
        return self.merge.gather(self.coming(*records, watermark=watermark), sessions or live())


def sessions(gathered: GatheredSessions) -> list[Bounds]:
    """Key and bounds of the sessions now."""
    clusters = gathered.clusters
    keys = gathered.found.take(clusters.codes)[0].to_pylist()
    return sorted(zip(keys, clusters.starts.tolist(), clusters.ends.tolist(), strict=True), key=repr)


class TestJoining:
    def test_a_record_begins_a_session_of_its_key(self) -> None:
        assert sessions(Merging().gather((1, "a"), (2, "b"))) == [("a", 1, 6), ("b", 2, 7)]

    def test_it_lengthens_one_that_it_overlaps(self) -> None:
        assert sessions(Merging().gather((6, "a"), sessions=live(("a", 1, 8)))) == [("a", 1, 11)]

    def test_it_bridges_two(self) -> None:
        """[1, 8) and [12, 17) are apart; 7 brings [7, 12), which overlaps the first, and 9 brings [9, 14)."""
        apart = live(("a", 1, 8), ("a", 12, 17))
        assert sessions(Merging().gather((7, "a"), (9, "a"), sessions=apart)) == [("a", 1, 17)]

    @pytest.mark.parametrize(
        ("touching", "found"), [(False, [("a", 1, 8), ("a", 8, 13)]), (True, [("a", 1, 13)])], ids=["apart", "one"]
    )
    def test_what_only_meets_it_is_one_where_they_may_touch(self, touching: bool, found: list[Bounds]) -> None:
        merging = Merging(touching=touching)
        assert sessions(merging.gather((8, "a"), sessions=live(("a", 1, 8)))) == found

    def test_sessions_of_other_keys_are_not_involved(self) -> None:
        """b stays as it is, and is no cluster: whoever asked keeps it."""
        gathered = Merging().gather((6, "a"), sessions=live(("a", 1, 8), ("b", 1, 8), (None, 1, 8)))
        assert gathered.involved.tolist() == [True, False, False]
        assert sessions(gathered) == [("a", 1, 11)]

    def test_of_a_key_that_something_came_for_all_sessions_are_involved(self) -> None:
        gathered = Merging().gather((50, "a"), sessions=live(("a", 1, 8)))
        assert gathered.involved.tolist() == [True]
        assert sessions(gathered) == [("a", 1, 8), ("a", 50, 55)]

    def test_null_is_a_key_like_any_other(self) -> None:
        merging = Merging()
        coming = merging.merge.read(merging.shard.accepted((6, None)), None)  # type: ignore[arg-type]
        assert sessions(merging.merge.gather(coming, live((None, 1, 8)))) == [(None, 1, 11)]

    def test_records_of_a_bundle_are_folded_as_far_as_they_hang_together(self) -> None:
        """a at 1, 3 and 5 are one run of three records, a at 30 another."""
        came = Merging().gather((1, "a"), (3, "a"), (5, "a"), (30, "a")).came
        assert sorted(zip(came.starts.tolist(), came.partials.rows.tolist(), strict=True)) == [(1, 3), (30, 1)]

    def test_records_that_came_folded_are_joined_as_they_are(self) -> None:
        merging = Merging()
        coming = merging.merge.read(merging.shard.accepted((6, "a")), runs((1, 8, "a"), (20, 25, "b")))
        assert coming.first == 1
        assert sessions(merging.merge.gather(coming, live())) == [("a", 1, 11), ("b", 20, 25)]


class TestJudging:
    """The watermark is 20 and there is no lateness: a session that ends at 20 or before has expired."""

    def test_a_record_whose_own_interval_has_not_expired_is_accepted(self) -> None:
        merging = Merging()
        assert told(merging.gather((16, "a"), watermark=20).accepted) == [(16, "a")]
        assert merging.shard.buried == []

    def test_one_whose_interval_has_expired_is_dead(self) -> None:
        """At 15 its interval is [15, 20), and 20 is reached."""
        merging = Merging()
        gathered = merging.gather((15, "a"), (16, "b"), watermark=20)
        assert told(gathered.accepted) == [(16, "b")]
        assert sessions(gathered) == [("b", 16, 21)]
        assert merging.shard.buried == [("expired", 15)]
        assert merging.shard.books.accounting.missed_windows == 1

    def test_unless_the_session_it_would_be_in_has_not(self) -> None:
        """A live session [17, 22) does not reach back to 15 alone; with the record at 15 it is one, and lives."""
        merging = Merging()
        gathered = merging.gather((15, "a"), sessions=live(("a", 17, 22)), watermark=20)
        assert told(gathered.accepted) == [(15, "a")]
        assert sessions(gathered) == [("a", 15, 22)]

    def test_the_other_records_of_the_bundle_count_too(self) -> None:
        """13 and 15 are too late alone; with 18, which is in time, they are one session that ends at 23."""
        merging = Merging()
        assert sessions(merging.gather((13, "a"), (15, "a"), (18, "a"), watermark=20)) == [("a", 13, 23)]
        assert merging.shard.buried == []

    def test_where_its_own_interval_counts_it_is_dead_all_the_same(self) -> None:
        merging = Merging(semantics=Semantics(late_sessions=LateSessions.OWN))
        gathered = merging.gather((15, "a"), (18, "a"), watermark=20)
        assert sessions(gathered) == [("a", 18, 23)]
        assert merging.shard.buried == [("expired", 15)]

    def test_the_dead_leave_no_session_behind(self) -> None:
        """2 and 4 would be one session that ends at 9; 18 is in time and alone."""
        merging = Merging()
        gathered = merging.gather((2, "a"), (4, "a"), (18, "a"), watermark=20)
        assert sessions(gathered) == [("a", 18, 23)]
        assert gathered.came.starts.tolist() == [18]
        assert merging.shard.buried == [("expired", 2), ("expired", 4)]

    def test_lateness_is_added_to_the_end(self) -> None:
        merging = Merging(lateness=Duration(3))
        assert sessions(merging.gather((12, "a"), (13, "b"), watermark=20)) == [("b", 13, 18)]
        assert merging.shard.buried == [("expired", 12)]


class TestFinished:
    """A session has finished: [1, 8) of a."""

    def test_a_record_that_meets_it_is_dead_and_others_are_not(self) -> None:
        merging = Merging()
        coming = merging.coming((6, "a"), (8, "a"), (6, "b"))
        left = merging.merge.without_finished(coming, live(("a", 1, 8)))
        assert told(left.accepted) == [(8, "a"), (6, "b")]
        assert left.ends.tolist() == [13, 11]
        assert merging.shard.buried == [("finished", 6)]

    def test_where_they_may_touch_one_that_only_meets_it_is_dead_too(self) -> None:
        merging = Merging(touching=True)
        left = merging.merge.without_finished(merging.coming((8, "a"), (9, "a")), live(("a", 1, 8)))
        assert told(left.accepted) == [(9, "a")]

    def test_nothing_has_finished_nothing_is_dead(self) -> None:
        merging = Merging()
        coming = merging.coming((6, "a"))
        assert merging.merge.without_finished(coming, live()) is coming


def test_nothing_came() -> None:
    merging = Merging()
    assert len(merging.merge.read(None, None)) == 0
    assert len(merging.coming()) == 0
    assert len(merging.coming((1, "a"))) == 1


def test_a_record_whose_gap_is_not_above_zero_brings_no_interval() -> None:
    """The gap of a record is its value here, and that is its time: 0 brings nothing, 3 brings [3, 6)."""
    kind = fl.session(gap_from="v")
    shard = Shard(kind)
    coming = SessionMerge(shard.plan, kind, shard.lateness, shard.books).read(shard.accepted((0, "a"), (3, "a")), None)
    assert (told(coming.accepted), coming.ends.tolist()) == ([(3, "a")], [6])
    assert shard.buried == [("no_window", 0)]
