"""A preparation at work, beside a slow reading of it in Python, row by row."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.model.preparation import Preparation, extract_of, select_of, where_of
from fanlight.operators.ingest.prepare import Preparer

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("price", pa.float64()),
        ("product", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("fee", pa.decimal128(9, 2)),
        ("paid", pa.bool_()),
    ]
)
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(-9, 9) | st.none(),
            "price": st.sampled_from([-1.5, -0.0, 0.0, 2.0, math.inf, math.nan, None]),
            "product": st.sampled_from(["tea", "coffee", "", None]),
            "at": st.integers(-2, 2).map(lambda hours: NOON + timedelta(hours=hours)) | st.none(),
            "fee": st.sampled_from([Decimal("0.50"), Decimal("-1.00"), Decimal("12.25"), None]),
            "paid": st.booleans() | st.none(),
        }
    ),
    max_size=12,
)


def known(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of values that is null where one of them is."""
    return lambda *values: None if any(value is None for value in values) else function(*values)


def sql_and(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def sql_or(one: bool | None, other: bool | None) -> bool | None:
    if one or other:
        return True
    return None if one is None or other is None else False


CONDITIONS: list[tuple[Any, Callable[[Row], bool | None]]] = [
    (fl.col("price") > 0, lambda row: known(lambda price: price > 0)(row["price"])),
    (fl.col("price") == fl.col("price"), lambda row: known(lambda price: not math.isnan(price))(row["price"])),
    (~(fl.col("price") > 0), lambda row: known(lambda price: not price > 0)(row["price"])),
    (fl.col("product") == "tea", lambda row: known(lambda product: product == "tea")(row["product"])),
    (fl.col("product") < "d", lambda row: known(lambda product: product < "d")(row["product"])),
    (fl.col("product").is_null(), lambda row: row["product"] is None),
    (fl.col("product").isin(["tea", ""]), lambda row: row["product"] in ("tea", "")),
    (fl.col("at") >= NOON, lambda row: known(lambda at: at >= NOON)(row["at"])),
    (fl.col("fee") > Decimal("0.25"), lambda row: known(lambda fee: fee > Decimal("0.25"))(row["fee"])),
    (fl.col("paid"), lambda row: row["paid"]),
    (
        fl.col("paid") & (fl.col("id") > 0),
        lambda row: sql_and(row["paid"], known(lambda number: number > 0)(row["id"])),
    ),
    (
        fl.col("paid") | (fl.col("id") > 0),
        lambda row: sql_or(row["paid"], known(lambda number: number > 0)(row["id"])),
    ),
    (pc.scalar(True), lambda row: True),
    (pc.scalar(None), lambda row: None),
]

COMPUTED: list[tuple[Any, Callable[[Row], Any]]] = [
    (fl.col("id") * 2, lambda row: known(lambda number: number * 2)(row["id"])),
    (fl.col("price") + fl.col("id"), lambda row: known(lambda price, number: price + number)(row["price"], row["id"])),
    (pc.utf8_upper(fl.col("product")), lambda row: known(str.upper)(row["product"])),
    (fl.col("fee") + Decimal("0.10"), lambda row: known(lambda fee: fee + Decimal("0.10"))(row["fee"])),
    (fl.col("at") - fl.col("at"), lambda row: known(lambda at: timedelta(0))(row["at"])),
    (fl.col("paid").is_valid(), lambda row: row["paid"] is not None),
    (pc.scalar("same"), lambda row: "same"),
]


def batch_of(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def plain(rows: list[Row]) -> list[Row]:
    """Rows that are equal where they say the same: NaN is not equal to itself."""
    return [{name: "NaN" if value != value else value for name, value in row.items()} for row in rows]


@given(ROWS, st.lists(st.sampled_from(CONDITIONS), min_size=1, max_size=3))
def test_where_keeps_the_rows_for_which_every_condition_is_true(rows: list[Row], conditions: list[Any]) -> None:
    prepared = Preparer(Preparation(tuple(where_of(expression) for expression, _ in conditions))).apply(batch_of(rows))
    stays = [all(holds(row) is True for _, holds in conditions) for row in rows]
    assert plain(prepared.batch.to_pylist()) == plain([row for row, kept in zip(rows, stays, strict=True) if kept])
    assert prepared.batch.schema == SCHEMA
    assert prepared.left_out == stays.count(False)
    assert prepared.kept is None if all(stays) else prepared.kept.tolist() == stays


@given(ROWS, st.lists(st.sampled_from(COMPUTED), min_size=1, max_size=4), st.sampled_from(CONDITIONS))
def test_where_and_select_one_after_the_other(rows: list[Row], computed: list[Any], condition: Any) -> None:
    """A condition, then columns, then a condition over a computed column."""
    named = {f"c{place}": expression for place, (expression, _) in enumerate(computed)}
    steps = (where_of(condition[0]), select_of("id", cost="price", **named), where_of(fl.col("c0").is_valid()))
    preparer = Preparer(Preparation(steps))
    prepared = preparer.apply(batch_of(rows))
    law = [
        {"id": row["id"], "cost": row["price"], **{f"c{i}": value(row) for i, (_, value) in enumerate(computed)}}
        for row in rows
        if condition[1](row) is True and computed[0][1](row) is not None
    ]
    assert plain(prepared.batch.to_pylist()) == plain(law)
    assert prepared.batch.schema == preparer.schema_of(SCHEMA)
    assert prepared.left_out == len(rows) - len(law)


@given(ROWS, st.integers(0, 12))
def test_a_batch_may_be_cut_anywhere(rows: list[Row], cut: int) -> None:
    preparer = Preparer(Preparation((where_of(fl.col("price") > 0), select_of("id", n=fl.col("id") + 1))))
    whole = batch_of(rows)
    parts = [preparer.apply(whole.slice(0, cut)), preparer.apply(whole.slice(cut))]
    once = preparer.apply(whole)
    assert pa.Table.from_batches([part.batch for part in parts]).to_pylist() == once.batch.to_pylist()
    assert sum(part.left_out for part in parts) == once.left_out


def test_the_order_of_many_rows_stays() -> None:
    """More than Arrow computes at a time, so that its pieces must be put together in order."""
    count = 200_000
    batch = pa.record_batch({"n": np.arange(count)})
    preparer = Preparer(Preparation((select_of("n", twice=fl.col("n") * 2), where_of(fl.col("twice") > 9))))
    prepared = preparer.apply(batch)
    assert prepared.left_out == 5
    assert prepared.batch["n"].to_pylist() == [*range(5, count)]
    assert prepared.batch["twice"].to_pylist() == [*range(10, 2 * count, 2)]


def test_what_stays_as_it_is_is_not_copied() -> None:
    batch = batch_of([{"id": 1, "price": 2.0}])
    prepared = Preparer(Preparation((where_of(fl.col("price") > 0), select_of("price", number="id")))).apply(batch)
    assert prepared.kept is None
    assert [prepared.batch.column(0).buffers()[1].address] == [batch.column("price").buffers()[1].address]


def test_without_steps_records_are_as_they_came() -> None:
    batch = batch_of([{"id": 1}])
    prepared = Preparer(Preparation()).apply(batch)
    assert (prepared.batch, prepared.kept, prepared.left_out) == (batch, None, 0)
    assert Preparer(Preparation()).schema_of(SCHEMA) == SCHEMA


def test_a_column_that_is_renamed_keeps_its_field() -> None:
    field = pa.field("id", pa.int64(), nullable=False, metadata={"unit": "pieces"})
    (found,) = Preparer(Preparation((select_of(number="id"),))).schema_of(pa.schema([field]))
    assert found.equals(field.with_name("number"), check_metadata=True)


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int8(), pa.string()), pa.string_view(), pa.large_string()])
def test_text_is_text_however_it_is_kept(kind: pa.DataType) -> None:
    batch = pa.record_batch({"k": pa.array(["tea", "coffee", None]).cast(kind)})
    steps = (where_of(fl.col("k") != "coffee"), select_of("k", loud=pc.utf8_upper(fl.col("k"))))
    preparer = Preparer(Preparation(steps))
    prepared = preparer.apply(batch)
    assert prepared.batch.to_pylist() == [{"k": "tea", "loud": "TEA"}]
    assert prepared.batch.schema == preparer.schema_of(batch.schema)


def test_a_select_after_a_where_computes_only_what_is_left() -> None:
    """Else 6 / 0 would stop the run."""
    batch = pa.record_batch({"n": [0, 2, 3]})
    guarded = Preparation((where_of(fl.col("n") != 0), select_of(share=pc.scalar(6) / fl.col("n"))))
    assert Preparer(guarded).apply(batch).batch.to_pylist() == [{"share": 3}, {"share": 2}]
    with pytest.raises(fl.InputError, match=r"select: share = divide_checked\(6, n\) cannot.*divide by zero.*where\("):
        Preparer(Preparation((select_of("n", share=pc.scalar(6) / fl.col("n")),))).apply(batch)


def test_columns_may_change_their_types_from_batch_to_batch() -> None:
    """A column of which only nulls have come has no type; what it is compared with does not matter yet."""
    preparer = Preparer(Preparation((where_of(fl.col("v") > 1),)))
    for column, left in ((pa.nulls(2), 2), (pa.array([1, 2]), 1), (pa.array([2.5, None]), 1)):
        assert preparer.apply(pa.record_batch({"v": column})).left_out == left
    flag = Preparer(Preparation((where_of(fl.col("flag")),)))
    assert flag.apply(pa.record_batch({"flag": pa.nulls(2)})).left_out == 2


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (
            where_of(fl.col("prise") > 0),
            r"where: \(prise > 0\) reads 'prise', which is not there\. .*Did you mean 'price'",
        ),
        (where_of(fl.col("product") > 0), r"where: \(product > 0\) cannot be computed: .*string.*product: string"),
        (where_of(fl.col("price")), r"where: price is of type double, and a condition is true or false\. Compare"),
        (where_of(pc.sum(fl.col("id")) > 3), r"where: .* depends on more than one row.*aggregate of a window"),
        (select_of("id", "nope"), r"select: Column 'nope' is not in the input, which has id, price"),
        (select_of(n=fl.col("nope")), r"select: n = nope reads 'nope', which is not there\. The columns are id, price"),
        (select_of(n=pc.field("at", "hour")), r"select: n = .* cannot be computed|reads 'at.hour', which is not there"),
        (extract_of(lambda batch: batch["nope"], "t"), r"extract t = .*batch without rows.*failed"),
        (extract_of(lambda batch: [], "t"), r"extract t = .*without a type\. Return a pyarrow or NumPy array"),
        (extract_of(lambda batch: batch["id"], "price"), r"there is a column 'price' already.*another name"),
    ],
)
def test_what_cannot_be_done_to_these_columns_is_said_at_once(step: Any, told: str) -> None:
    with pytest.raises(fl.SpecError, match=told):
        Preparer(Preparation((step,))).schema_of(SCHEMA)


@pytest.mark.parametrize("step", [where_of(fl.col("nope") > 0), where_of(fl.col("id")), select_of("nope")])
def test_and_by_the_first_records_if_nobody_asked(step: Any) -> None:
    with pytest.raises(fl.SpecError, match=r"nope|is of type int64"):
        Preparer(Preparation((step,))).apply(batch_of([]))


def test_two_columns_of_one_name_in_the_input_are_refused_where_they_are_read() -> None:
    twice = pa.schema([("a", pa.int64()), ("a", pa.int64()), ("b", pa.int64())])
    assert Preparer(Preparation((where_of(fl.col("b") > 0),))).schema_of(twice) == twice
    with pytest.raises(fl.SpecError, match=r"reads 'a', and more than one column has this name"):
        Preparer(Preparation((where_of(fl.col("a") > 0),))).schema_of(twice)
    with pytest.raises(fl.SpecError, match=r"select: Column 'a' occurs in the input 2 times"):
        Preparer(Preparation((select_of("a"),))).schema_of(twice)


class TestExtract:
    @pytest.mark.parametrize(
        "made",
        [
            lambda batch: pc.add(batch["id"], 1),
            lambda batch: pa.chunked_array([pc.add(batch["id"], 1)]),
            lambda batch: batch["id"].to_numpy(zero_copy_only=False) + 1,
        ],
        ids=["an array", "a chunked array", "NumPy"],
    )
    def test_a_function_of_the_batch_adds_a_column(self, made: Any) -> None:
        steps = (extract_of(made, "next"), where_of(fl.col("next") > 2))
        batch = pa.record_batch({"id": [1, 2]})
        prepared = Preparer(Preparation(steps)).apply(batch)
        assert prepared.batch.to_pylist() == [{"id": 2, "next": 3}]
        assert Preparer(Preparation(steps)).schema_of(batch.schema) == prepared.batch.schema

    def test_times_may_be_values_of_python(self) -> None:
        preparer = Preparer(Preparation((extract_of(lambda batch: [NOON] * len(batch), "time"),)))
        prepared = preparer.apply(batch_of([{"id": 1}, {"id": 2}]))
        assert prepared.batch["time"].to_pylist() == [NOON, NOON]

    @pytest.mark.parametrize(
        ("made", "told"),
        [
            (lambda batch: [1], r"returned 1 values for 2 records\. Return one for each"),
            (lambda batch: 7, r"returned a int, which is no column"),
            (lambda batch: [1, "a"], r"returned a list, which is no column"),
        ],
    )
    def test_what_is_no_column_is_refused(self, made: Any, told: str) -> None:
        with pytest.raises(fl.InputError, match=told):
            Preparer(Preparation((extract_of(made, "t"),))).apply(batch_of([{"id": 1}, {"id": 2}]))

    def test_what_the_function_raises_is_seen(self) -> None:
        def broken(batch: pa.RecordBatch) -> pa.Array:
            raise RuntimeError("no")

        with pytest.raises(RuntimeError, match="no"):
            Preparer(Preparation((extract_of(broken, "t"),))).apply(batch_of([]))
