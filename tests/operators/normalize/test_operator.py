"""Normalizing on its host, story by story: each change leaves at once, after the row that it takes back."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.operators.sort.sorting import Sorting
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.model.changes import Changes
from fanlight.model.normalize import NormalizeSpec
from fanlight.model.reason import Reason
from fanlight.model.time.duration import Duration
from fanlight.operators.bind import bind
from fanlight.testing.script import Record

BY_ID = NormalizeSpec("ts", ("id",), Changes("op", ("id",), (("d", "-D"),)), Duration(10), watermark=fl.Explicit())
SCHEMA = pa.schema({"ts": pa.int64(), "op": pa.string(), "id": pa.int64(), "v": pa.string()})


def change(time: int, number: int, value: str | None, op: str = "+I") -> Record:
    return {"ts": time, "op": op, "id": number, "v": value}


class TestUnique:
    def test_a_row_that_is_replaced_is_taken_back_in_full_with_the_time_it_had(self) -> None:
        normalizing = Sorting(BY_ID, SCHEMA)
        assert normalizing.add(change(1, 7, "a"), change(5, 7, "b"), change(6, 7, None, "d")) == [
            change(1, 7, "a"),
            change(1, 7, "a", "-U"),
            change(5, 7, "b", "+U"),
            change(5, 7, "b", "-D"),
        ]
        assert normalizing.add(change(9, 7, "c", "+U")) == [change(9, 7, "c", "+I")]
        assert normalizing.counted == (4, 4, 0, 0)

    def test_a_row_is_forgotten_when_the_watermark_is_far_past_it(self) -> None:
        normalizing = Sorting(BY_ID, SCHEMA)
        normalizing.add(change(1, 7, "a"), change(5, 8, "b"), watermark=12)
        forgotten, unknown, live = change(1, 7, "a", "-D"), change(9, 7, "a", "-D"), change(9, 8, "b", "-D")
        assert normalizing.add(forgotten, unknown, live) == [change(5, 8, "b", "-D")]
        assert normalizing.take_letters() == [(Reason.EXPIRED, forgotten), (Reason.NO_SUCH_ROW, unknown)]
        assert normalizing.counted == (5, 3, 0, 2)
        normalizing.add(change(90, 1, "z"), watermark=80)
        assert normalizing.waiting == 1

    def test_at_the_end_nothing_remains(self) -> None:
        normalizing = Sorting(BY_ID, SCHEMA)
        normalizing.add(change(1, 7, "a"))
        assert normalizing.end() == []
        assert normalizing.waiting == 0

    def test_only_the_buckets_of_a_bundle_are_read(self) -> None:
        """A thousand rows lie in 256 buckets, so one change reads some four of them."""
        store = WatchedStore("live")
        normalizing = Sorting(BY_ID, SCHEMA, store=store)
        normalizing.add(*(change(1, number, "a") for number in range(1_000)))
        store.forget()
        normalizing.add(change(2, 500, "b"))
        assert len(set(store.read)) == 1


class TestEqualRows:
    EQUAL = NormalizeSpec("ts", (), Changes("op"), watermark=fl.Explicit())

    def test_a_delete_takes_one_row_that_is_equal_in_all_columns(self) -> None:
        normalizing = Sorting(self.EQUAL, SCHEMA)
        gone = change(1, 7, "a", "-D")
        assert normalizing.add(change(1, 7, "a"), change(1, 7, "a"), gone) == [
            change(1, 7, "a"),
            change(1, 7, "a"),
            gone,
        ]
        other = change(1, 7, "b", "-D")
        assert normalizing.add(gone, gone, other) == [gone]
        assert normalizing.take_letters() == [(Reason.NO_SUCH_ROW, gone), (Reason.NO_SUCH_ROW, other)]


class TestDeclared:
    @pytest.mark.parametrize(
        ("fields", "told"),
        [
            ({"keep": Duration(-1)}, r"`keep` \(-1 us\) is negative"),
            ({"keys": ("v",)}, r"keys \(v\) are not among the unique columns \(id\)"),
        ],
    )
    def test_what_would_lose_rows_is_refused(self, fields: dict[str, Any], told: str) -> None:
        said: dict[str, Any] = {"time": "ts", "keys": ("id",), "changes": Changes("op", ("id",))}
        with pytest.raises(fl.SpecError, match=told):
            NormalizeSpec(**{**said, **fields})

    def test_rows_that_cannot_be_compared_need_unique_columns(self) -> None:
        with pytest.raises(fl.InputError, match="Name columns that tell rows apart with `unique`"):
            bind(NormalizeSpec("ts", (), Changes("op")), SCHEMA.append(pa.field("l", pa.list_(pa.int64()))))

    def test_its_changes_are_consistent(self) -> None:
        assert BY_ID.continuation.changes == Changes("op", ("id",), consistent=True)
