"""How long the silence is that ends a session: the same for all records, or each record's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.errors import InputError
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import LATEST
from fanlight.model.time.unit import TimeUnit
from fanlight.model.windows.session import Session
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.session.gaps import ends_of

TIMES = np.array([100, 200, 300, 400])


def found(gaps: pa.Array, unit: TimeUnit | None = TimeUnit.MICROSECONDS) -> tuple[list[int], list[bool]]:
    """Where intervals of records at 100, 200 and so on end, and which records have none."""
    kind = Session(gap_from="g")
    spec = WindowSpec("ts", kind, (("n", fl.count()),), (), unit=unit)
    batch = pa.record_batch([pa.array(TIMES[: len(gaps)]), gaps], names=["ts", "g"])
    plan = Plan.bind(spec, batch.schema)
    ends, homeless = ends_of(plan, kind, batch, TIMES[: len(gaps)])
    return ends.tolist(), homeless.tolist()


def test_one_gap_for_all() -> None:
    kind = Session(Duration(7))
    spec = WindowSpec("ts", kind, (("n", fl.count()),), ())
    batch = pa.record_batch([pa.array(TIMES)], names=["ts"])
    ends, homeless = ends_of(Plan.bind(spec, batch.schema), kind, batch, TIMES)
    assert ends.tolist() == [107, 207, 307, 407]
    assert not homeless.any()


def test_a_gap_for_each_record_and_none_where_it_is_null_or_not_above_zero() -> None:
    ends, homeless = found(pa.array([1, 0, -5, None]))
    assert homeless == [False, True, True, True]
    assert ends[0] == 101


@pytest.mark.parametrize(
    ("unit", "end"),
    [(TimeUnit.SECONDS, 2_000_100), (TimeUnit.MILLISECONDS, 2_100), (TimeUnit.MICROSECONDS, 102)],
    ids=str,
)
def test_whole_numbers_count_the_unit_of_the_stream(unit: TimeUnit, end: int) -> None:
    assert found(pa.array([2]), unit) == ([end], [False])


def test_nanoseconds_are_floored_and_less_than_a_microsecond_is_no_gap() -> None:
    assert found(pa.array([2_999, 999]), TimeUnit.NANOSECONDS) == ([102, 200], [False, True])


@pytest.mark.parametrize(("unit", "gap"), [("s", 2_000_000), ("ms", 2_000), ("us", 2)])
def test_a_duration_says_itself_what_it_counts(unit: str, gap: int) -> None:
    assert found(pa.array([2], pa.duration(unit)), unit=None) == ([100 + gap], [False])


def test_a_column_of_few_values_is_read_as_those() -> None:
    assert found(pa.array([5, 6, 5]).dictionary_encode())[0] == [105, 206, 305]


@pytest.mark.parametrize("gap", [2**63 - 1, -(2**63)], ids=["endless", "endlessly negative"])
def test_no_gap_leads_past_all_time(gap: int) -> None:
    """Seconds that would not fit microseconds: the longest gap there is, not one that turns round."""
    ends, homeless = found(pa.array([gap]), TimeUnit.SECONDS)
    assert homeless == [gap < 0]
    assert -(2**63) < ends[0] <= LATEST + 100


def test_whole_numbers_without_a_unit_are_refused() -> None:
    with pytest.raises(InputError, match=r"`gap_from` 'g' is int64, and whole numbers do not say what they count"):
        found(pa.array([2]), unit=None)


@pytest.mark.parametrize("column", [pa.array([1.5]), pa.array(["5 s"])], ids=str)
def test_what_says_no_length_of_time_is_refused(column: Any) -> None:
    with pytest.raises(InputError, match="says no length of time"):
        found(column)
