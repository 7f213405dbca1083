"""Values of any type, compared: equal where Python says so, once null equals null and NaN equals NaN."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.grouping.comparable import comparable
from fanlight.kernels.grouping.groups import encode

numbers = st.none() | st.sampled_from([0.0, 1.5, float("nan")])
structs = st.none() | st.fixed_dictionaries({"a": numbers, "b": st.none() | st.lists(numbers, max_size=2)})
CASES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.float64(), numbers),
    (pa.list_(pa.float64()), st.none() | st.lists(numbers, max_size=3)),
    (pa.list_(pa.float64(), 2), st.none() | st.lists(numbers, min_size=2, max_size=2)),
    (pa.struct({"a": pa.float64(), "b": pa.list_(pa.float64())}), structs),
    (pa.list_(pa.struct({"a": pa.float64(), "b": pa.list_(pa.float64())})), st.lists(structs, max_size=2)),
    (pa.map_(pa.string(), pa.int64()), st.none() | st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1)))),
    (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(["a", "b", None])),
    (pa.month_day_nano_interval(), st.sampled_from([None, (1, 2, 3), (1, 2, 4)])),
    (pa.null(), st.none()),
]


@pytest.mark.parametrize(("kind", "values"), CASES, ids=lambda part: str(part)[:40])
@given(st.data())
def test_rows_are_equal_where_their_values_are(
    kind: pa.DataType, values: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    drawn = data.draw(st.lists(values, min_size=1, max_size=6))
    column = pa.concat_arrays([pa.array([drawn[0]], kind), pa.array(drawn, kind)])[1:]  # an offset must not matter
    codes = encode(comparable(column), len(drawn)).codes.tolist()
    told = [repr(value) for value in column.to_pylist()]
    assert [[a == b for b in codes] for a in codes] == [[a == b for b in told] for a in told]
