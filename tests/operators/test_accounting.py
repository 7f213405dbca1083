"""The books: every record is counted when it comes, and once more by what became of it."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

import fanlight as fl
from fanlight.model.reason import Reason
from fanlight.operators.accounting import Accounting, Books
from fanlight.operators.ingest.conform import CheckedBatch
from fanlight.operators.shard import Shard
from fanlight.state.memory import MemoryStore
from fanlight.state.store import Address

SCHEMA = pa.schema({"v": pa.int64()})


def test_every_fate_of_a_record_is_in_the_balance() -> None:
    """Two accepted, one dead letter, four duplicates, five filtered, six dropped: eighteen came."""
    books = Books(SCHEMA)
    books.receive(3)
    books.accept(2)
    books.reject(pa.record_batch({"v": [1]}), np.array([True]), Reason.EXPIRED, np.array([0]))
    books.repeat(4)
    books.filter(5)
    books.drop(6)
    assert books.accounting == Accounting(18, 2, 4, 1, filtered=5, dropped=6)
    assert books.accounting.adds_up


def test_a_record_that_nothing_became_of_is_seen() -> None:
    assert not Accounting(received=3, accepted=1, filtered=1).adds_up
    assert not Accounting(received=3, accepted=1, dropped=1).adds_up
    assert Accounting(received=3, accepted=1, filtered=1, dropped=1).adds_up


def test_state_from_before_a_count_was_kept_is_read_and_has_none_of_it() -> None:
    spec = fl.stream([], time="v", unit="s").window(fl.tumbling("10 s")).agg(n=fl.count()).spec
    store = MemoryStore()
    shard = Shard(spec, store)
    shard.bind(SCHEMA)
    shard.step(CheckedBatch(pa.record_batch({"v": [1, 2]})))
    index = json.loads(store.get(Address("index", 0, 0)).column("index")[0].as_py())
    for count in ("filtered", "dropped"):
        assert index["accounting"].pop(count) == 0
    store.put(Address("index", 0, 0), pa.record_batch({"index": [json.dumps(index)]}))
    store.commit()
    again = Shard(spec, store)
    again.bind(SCHEMA)
    assert again.accounting == Accounting(received=2, accepted=2)
