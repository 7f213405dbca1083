"""The temporal filter on its host: what is kept, what of it a step reads, which columns are refused."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.operators.sort.sorting import Sorting
from tests.operators.window.watched_store import WatchedStore

import fanlight as fl
from fanlight.model.changes import Changes
from fanlight.model.recent import RecentSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME
from fanlight.operators.bind import bind

SPEC = RecentSpec("ts", (), Duration(10), fl.Explicit())
SCHEMA = pa.schema({"ts": pa.int64(), "v": pa.int64()})


def test_only_the_rows_that_are_shown_are_kept() -> None:
    showing = Sorting(SPEC, SCHEMA)
    showing.add(*({"ts": time, "v": 0} for time in range(100)), watermark=60)
    assert showing.waiting == 50
    showing.advance(90)
    assert showing.waiting == 20


def test_a_watermark_at_the_end_of_time_takes_nothing_back_and_nothing_remains() -> None:
    """A stage before hands it on before the end."""
    showing = Sorting(SPEC, SCHEMA)
    showing.add({"ts": 5, "v": 0}, watermark=6)
    assert showing.advance(END_OF_TIME) == []
    assert showing.waiting == 0
    assert showing.end() == []


def test_a_step_reads_only_what_the_watermark_comes_to() -> None:
    """Parts are cut at about 16,000 rows when they are compacted; the newest of them are not touched."""
    store = WatchedStore("recent")
    showing = Sorting(RecentSpec("ts", (), Duration(1_000_000), fl.Explicit()), SCHEMA, store)
    for start in range(0, 320_000, 16_000):
        batch = pa.record_batch({"ts": range(start, start + 16_000), "v": [0] * 16_000}, schema=SCHEMA)
        showing.add_batch(batch, watermark=start)
    store.forget()
    assert len(showing.advance(1_000_100)) == 100
    assert len(set(store.read)) == 1


def test_a_column_gets_its_type_later() -> None:
    showing = Sorting(SPEC)
    assert showing.add({"ts": 1, "v": None}) == [{"ts": 1, "v": None, "op": "+I"}]
    assert showing.add({"ts": 2, "v": "x"}, watermark=12) == [
        {"ts": 2, "v": "x", "op": "+I"},
        {"ts": 1, "v": None, "op": "-D"},
    ]


def test_lists_may_pass_and_tell_no_rows_apart() -> None:
    lists = SCHEMA.append(pa.field("tags", pa.list_(pa.int64())))
    assert bind(SPEC, lists).result.names == ["ts", "v", "tags", "op"]
    changes = RecentSpec("ts", (), Duration(10), changes=Changes("op", consistent=True))
    with pytest.raises(fl.InputError, match=r"delete: column 'tags' is list.*Name columns .* with `unique`"):
        bind(changes, lists.append(pa.field("op", pa.string())))
    by_value = RecentSpec("ts", (), Duration(10), changes=Changes("op", ("v",), consistent=True))
    assert bind(by_value, lists.insert(0, pa.field("op", pa.string()))).result.names == ["op", "ts", "v", "tags"]
