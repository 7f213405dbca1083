"""Keys as codes: each row gets its own key back, codes follow the order they promise, and few rows make few codes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.grouping.groups import KeyCodes, densify, encode, encode_in_order, encode_loosely
from fanlight.kernels.routes import rerouted

from .ranks import rank

near, far = st.integers(-3, 5), st.integers(-(2**63), 2**63 - 1)
COLUMNS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.int64(): st.one_of(near, near, far, st.integers(2**63 - 3, 2**63 - 1)),
    pa.int8(): st.integers(-128, 127),
    pa.uint64(): st.one_of(st.integers(0, 6), st.integers(0, 2**64 - 1), st.integers(2**64 - 3, 2**64 - 1)),
    pa.string(): st.sampled_from(["", "a", "b", "é"]),
    pa.float64(): st.sampled_from([0.0, -0.0, 1.5, math.inf, math.nan]),
    pa.bool_(): st.booleans(),
    pa.date32(): st.dates(),
    pa.null(): st.none(),
}

Way = Callable[[list[pa.Array], int], KeyCodes]
WAYS: dict[str, Way] = {
    "any order": encode,
    "ascending": encode_in_order,
    "loosely": encode_loosely,
    "loosely, ascending": lambda columns, rows: encode_loosely(columns, rows, in_order=True),
}


@st.composite
def key_columns(draw: st.DrawFn) -> tuple[list[pa.Array], int]:
    """No column of keys, or some, of any types; with nulls, and as views of longer columns."""
    kinds = draw(st.lists(st.sampled_from(list(COLUMNS)), max_size=3))
    rows, skipped = draw(st.integers(0, 8)), draw(st.integers(0, 1))
    nulls = st.none() if draw(st.booleans()) else st.nothing()
    drawn = [draw(st.lists(nulls | COLUMNS[kind], min_size=rows + 1, max_size=rows + 1)) for kind in kinds]
    return [pa.array(values, kind).slice(skipped, rows) for values, kind in zip(drawn, kinds, strict=True)], rows


@pytest.mark.parametrize("way", WAYS)
@given(given_keys=key_columns(), dense=st.sampled_from([0, 1 << 20]))
def test_a_code_stands_for_its_rows_key_and_for_no_other(
    way: str, given_keys: tuple[list[pa.Array], int], dense: int
) -> None:
    columns, rows = given_keys
    with rerouted(counted_domain=dense):
        found = WAYS[way](columns, rows)
    assert len(found.codes) == rows
    assert all(len(column) == found.count for column in found.keys)
    assert [column.type for column in found.keys] == [column.type for column in columns]
    known = [tuple(map(rank, key)) for key in zip(*(column.to_pylist() for column in found.keys), strict=True)]
    wanted = [tuple(map(rank, key)) for key in zip(*(column.to_pylist() for column in columns), strict=True)]
    assert len(set(known)) == len(known)
    assert [known[code] for code in found.codes.tolist()] == wanted if columns else found.codes.tolist() == [0] * rows
    if "ascending" in way:
        assert known == sorted(known)
    if "loosely" not in way and columns:
        assert set(known) == set(wanted)


@pytest.mark.parametrize("in_order", [False, True])
def test_whole_numbers_that_lie_close_are_not_looked_up_and_those_far_apart_are(in_order: bool) -> None:
    """Who groups by codes makes something for each of them: two records must not make a million of it."""
    close, apart = pa.array([7, 20]), pa.array([7, 23])
    assert encode_loosely([close], 2, in_order=in_order).count == 14
    assert encode_loosely([apart], 2, in_order=in_order).count == 2
    assert encode_loosely([pa.array([0, 1_000_000])], 2, in_order=in_order).count == 2


@pytest.mark.parametrize(("kind", "most"), [(pa.int64(), 2**63 - 1), (pa.uint64(), 2**64 - 1), (pa.int8(), 127)])
def test_the_greatest_whole_numbers_are_keys_like_any_other(kind: pa.DataType, most: int) -> None:
    """There is no number after them to count up to."""
    found = encode_loosely([pa.array([most, most - 1, most], kind)], 3, in_order=True)
    assert found.take(found.codes.astype(np.int64))[0].to_pylist() == [most, most - 1, most]


@given(st.lists(st.integers(0, 30), max_size=20), st.sampled_from([0, 1 << 20]), st.sampled_from([np.int32, np.int64]))
def test_codes_without_gaps_keep_their_order(codes: list[int], dense: int, kind: Any) -> None:
    with rerouted(counted_domain=dense):
        few, present = densify(np.array(codes, kind), 500)
    assert present.tolist() == sorted(set(codes))
    assert present[few].tolist() == codes
    assert (few.dtype, present.dtype) == (np.int64, np.int64)
