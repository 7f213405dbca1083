"""Narrowed columns: what was narrowed is given back as it was, whatever its numbers, nulls and types."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.state.codec import narrowed, widened

LEAST, MOST = -(2**63), 2**63 - 1
ROWS = 300
"""So many that they are narrowed."""

KINDS = (
    pa.int64(),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns"),
    pa.duration("us"),
    pa.time64("us"),
    pa.date64(),
    pa.int32(),
    pa.uint64(),
    pa.float64(),
)


def column(numbers: list[int | None], kind: pa.DataType) -> pa.Array:
    """Whole numbers as values of `kind`, again and again until there are enough."""
    cycled = [numbers[place % len(numbers)] for place in range(ROWS)]
    if pa.types.is_uint64(kind):
        return pa.array([None if number is None else abs(number) for number in cycled], kind)
    if not (pa.types.is_int32(kind) or pa.types.is_floating(kind)):
        return pa.array(cycled, pa.int64()).view(kind)
    return pa.array([None if number is None else number % 1_000 for number in cycled], kind)


bounds = st.sampled_from([LEAST, -(2**32), -1, 0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, MOST])
spans = st.tuples(bounds, st.sampled_from([0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32]))
numbers_ = spans.map(lambda span: [span[0], min(span[0] + span[1], MOST)]) | st.lists(
    st.integers(LEAST, MOST), min_size=1
)
nullable = numbers_.flatmap(lambda numbers: st.sampled_from([numbers, [*numbers, None]]))


@given(st.lists(st.tuples(nullable, st.sampled_from(KINDS)), min_size=1, max_size=4), st.booleans())
def test_what_was_narrowed_is_given_back(columns: list[tuple[list[int | None], pa.DataType]], inside: bool) -> None:
    arrays = [column(numbers, kind) for numbers, kind in columns]
    fields = [pa.field(f"c{place}", array.type, nullable=bool(array.null_count)) for place, array in enumerate(arrays)]
    if inside:
        arrays = [pa.StructArray.from_arrays(arrays, fields=fields)]
        fields = [pa.field("s", arrays[0].type)]
    batch = pa.record_batch(arrays, schema=pa.schema(fields, {"who": "me"}))
    again = widened(narrowed(batch))
    assert again.schema.equals(batch.schema, check_metadata=True)
    assert again.equals(batch)


@pytest.mark.parametrize(
    ("span", "width"), [(0, 0), (255, 1), (256, 2), (65_535, 2), (65_536, 4), (2**32 - 1, 4), (2**32, 8)]
)
def test_a_column_takes_the_fewest_bytes_that_hold_it(span: int, width: int) -> None:
    numbers = np.array([5_000_000_000, 5_000_000_000 + span] * ROWS)
    found = narrowed(pa.record_batch({"n": numbers}))
    assert found.nbytes == 2 * ROWS * width
    assert widened(found).column("n").to_pylist() == numbers.tolist()


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("distance", [60_000_000, -1, 0, MOST])
def test_a_column_that_is_always_as_far_from_the_one_before_takes_no_bytes(distance: int, inside: bool) -> None:
    starts = np.arange(ROWS) ** 2
    sides = [pa.array(side).view(pa.timestamp("us")) for side in (starts, starts + np.int64(distance))]
    batch = pa.record_batch(sides, names=["start", "end"])
    if inside:
        batch = pa.record_batch({"window": pa.StructArray.from_arrays(batch.columns, names=["start", "end"])})
    found = narrowed(batch)
    assert found.nbytes == 4 * ROWS
    assert widened(found).equals(batch)


@pytest.mark.parametrize("odd", [0, 1, ROWS // 2, ROWS - 1])
def test_one_that_is_not_as_far_is_kept(odd: int) -> None:
    starts = np.arange(ROWS) ** 2
    ends = starts + 60_000_000
    ends[odd] += 1
    batch = pa.record_batch({"start": starts, "end": ends})
    assert widened(narrowed(batch)).equals(batch)


def test_a_slice_is_narrowed_as_what_it_shows() -> None:
    batch = pa.record_batch({"n": np.arange(10_000)}).slice(1_000, ROWS)
    found = narrowed(batch)
    assert found.nbytes == 2 * ROWS
    assert widened(found).equals(batch)


def test_few_rows_stay_as_they_are() -> None:
    batch = pa.record_batch({"n": [1, 2]})
    assert narrowed(batch) is batch
    assert widened(batch) is batch
