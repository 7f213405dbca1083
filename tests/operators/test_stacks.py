"""Keys keep their numbers for as long as the stacks live."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fanlight.operators.stacks import KeyIndex

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
