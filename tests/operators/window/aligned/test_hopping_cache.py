"""Keys keep their numbers for as long as the stacks live."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.operators.window.aligned.hopping_cache import KeyIndex

keys = st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([True, False, None])), max_size=8)


@given(st.lists(keys, max_size=5))
def test_a_key_has_one_number_and_keeps_it(bundles: list[list[tuple[str | None, bool | None]]]) -> None:
    index = KeyIndex([pa.array([], pa.string()), pa.array([], pa.bool_())], 0)
    numbers: dict[tuple[str | None, bool | None], int] = {}
    for bundle in bundles:
        columns = [pa.array([k for k, _ in bundle], pa.string()), pa.array([b for _, b in bundle], pa.bool_())]
        for key, number in zip(bundle, index.intern(columns, len(bundle)).tolist(), strict=True):
            assert numbers.setdefault(key, number) == number
    assert sorted(numbers.values()) == list(range(index.count))
    stored = list(zip(*(column.to_pylist() for column in index.keys), strict=True))
    assert stored == sorted(numbers, key=numbers.__getitem__)
    ordered = [stored[number] for number in index.order.tolist()]
    assert ordered == sorted(stored, key=lambda key: [(part is None, part or False) for part in key])


def test_keys_that_come_and_go_are_forgotten_and_never_mixed_up() -> None:
    """Forty bundles, each with its own 400 of 4,300 keys: the index shrinks on the way, amid overlapping windows."""
    rng = np.random.default_rng(11)
    spec = fl.stream([], time="ts", unit="s").key_by("k").window(fl.hopping("7 s", every="2 s")).agg(n=fl.count()).spec
    operator = fl.WindowOperator(spec)
    expected: Counter[tuple[int, int]] = Counter()
    fired: Counter[tuple[int, int]] = Counter()
    for number in range(40):
        seconds = number * 5 + rng.integers(0, 9, 600)
        bundle = rng.integers(number * 100, number * 100 + 400, 600)
        late = operator.watermark // 1_000_000 if number else -100
        for second, key in zip(seconds.tolist(), bundle.tolist(), strict=True):
            starts = range(2 * ((second - 7) // 2 + 1), second + 1, 2)
            expected.update((key, start) for start in starts if start + 7 > late)
        operator.add(pa.record_batch({"ts": seconds, "k": bundle}))
        fired.update(_fired(operator))
    operator.end()
    fired.update(_fired(operator))
    assert fired == expected


def _fired(operator: fl.WindowOperator) -> dict[tuple[int, int], int]:
    rows = operator.take().to_pylist()
    return {(row["k"], int(row["window"]["start"].timestamp())): row["n"] for row in rows}
