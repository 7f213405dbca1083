"""The partial log: appending reads nothing, a crowded slice is compacted, retiring deletes whole slices."""

from __future__ import annotations

import fanlight as fl
from fanlight.operators.chunk_log import CROWDED
from fanlight.state.memory import MemoryStore

SPEC = (
    fl.stream([], time="ts", unit="s", watermark=fl.Explicit())
    .key_by("k")
    .window(fl.tumbling("1 minute"))
    .agg(n=fl.count(), total=fl.sum("v"), first=fl.first("v"))
    .spec
)


def chunks(store: MemoryStore) -> int:
    return len(store.list("partials"))


def test_a_crowded_slice_is_compacted_and_its_values_stay() -> None:
    """Two hundred bundles of two keys in one slice: never more chunks than a slice may have, and nothing is lost."""
    store = MemoryStore()
    operator = fl.WindowOperator(SPEC, store=store)
    for second in range(200):
        operator.add([{"ts": second % 60, "k": key, "v": second} for key in ("a", "b")])
        assert chunks(store) <= CROWDED
    operator.end()
    rows = [(row["k"], row["n"], row["total"], row["first"]) for row in operator.take().to_pylist()]
    total = sum(range(200))
    # Seconds 0, 60, 120 and 180 share the least event time; the least value of those is 0.
    assert rows == [("a", 200, total, 0), ("b", 200, total, 0)]


def test_each_slice_has_its_own_log_and_leaves_as_a_whole() -> None:
    store = MemoryStore()
    operator = fl.WindowOperator(SPEC, store=store)
    operator.add([{"ts": ts, "k": "a", "v": 1} for ts in (5, 65, 125)])
    operator.add([{"ts": ts, "k": "a", "v": 1} for ts in (6, 126)])
    assert chunks(store) == 5
    operator.advance(watermark=120_000_000)
    assert chunks(store) == 2
