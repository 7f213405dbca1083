"""Sources: whatever users hand in comes out as record batches, and what does not fit is refused by place and name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.embedded.sources import RECORD_ROWS, as_bundle, bundles
from fanlight.errors import InputError

TABLE = pa.table({"ts": [1, 2, 3, 4, 5], "k": ["a", "b", None, "a", "c"]})
ROWS = TABLE.to_pylist()
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


def batches(source: Any, **options: Any) -> Iterator[pa.RecordBatch]:
    """The batches of a strict source."""
    return (came.batch for came in bundles(source, **options))


def as_batch(records: Any, schema: pa.Schema | None = None) -> pa.RecordBatch:
    return as_bundle(records, schema).batch


def read(source: Any, **options: Any) -> list[Any]:
    """All rows, after the promises that hold for every source were checked."""
    rows = []
    for batch in batches(source, **options):
        assert isinstance(batch, pa.RecordBatch)
        batch.validate(full=True)
        assert 0 < batch.num_rows <= options.get("rows", 1 << 20)
        rows += batch.to_pylist()
    return rows


EVERY_KIND: dict[str, Any] = {
    "table": lambda: TABLE,
    "chunked table": lambda: pa.concat_tables([TABLE.slice(0, 1), TABLE.slice(1, 3), TABLE.slice(4)]),
    "batch": lambda: TABLE.to_batches()[0],
    "sliced batch": lambda: pa.concat_tables([TABLE, TABLE]).combine_chunks().to_batches()[0].slice(5),
    "reader": lambda: TABLE.to_reader(max_chunksize=2),
    "pandas": lambda: TABLE.to_pandas(),
    "pandas with its time as the index": lambda: TABLE.to_pandas().set_index("ts"),
    "polars": lambda: pl.DataFrame(ROWS),
    "batches": lambda: TABLE.to_batches(max_chunksize=2),
    "iterator of batches": lambda: iter(TABLE.to_batches(max_chunksize=2)),
    "tables": lambda: (TABLE.slice(start, 2) for start in (0, 2, 4)),
    "data frames": lambda: [TABLE.to_pandas()],
    "records": lambda: ROWS,
    "iterator of records": lambda: iter(ROWS),
    "dictionary column": lambda: TABLE.set_column(1, "k", TABLE["k"].dictionary_encode()),
}


class TestEveryKind:
    @pytest.mark.parametrize("kind", EVERY_KIND)
    @pytest.mark.parametrize("rows", [1, 2, 3, 5, 100])
    def test_gives_the_same_rows_in_the_same_order(self, kind: str, rows: int) -> None:
        assert read(EVERY_KIND[kind](), rows=rows) == ROWS

    @pytest.mark.parametrize("kind", EVERY_KIND)
    def test_has_a_default_for_rows(self, kind: str) -> None:
        assert read(EVERY_KIND[kind]()) == ROWS

    @pytest.mark.parametrize(
        "empty",
        [
            TABLE.slice(0, 0), TABLE.to_batches()[0].slice(0, 0), TABLE.slice(0, 0).to_reader(), TABLE.to_pandas()[:0],
            pl.DataFrame(ROWS)[:0], [], iter(()), [TABLE.slice(0, 0)], pa.table({}),
        ],
        ids=lambda empty: type(empty).__name__,
    )  # fmt: skip
    def test_gives_nothing_if_it_is_empty(self, empty: Any) -> None:
        assert list(batches(empty)) == []


class TestColumnar:
    def test_a_table_is_cut_by_rows_and_not_by_its_chunks(self) -> None:
        """Else the bundles, and so the firings, would depend on how a file was written."""
        chunked = pa.concat_tables([TABLE.slice(n, 1) for n in range(5)])
        assert [batch.num_rows for batch in batches(chunked, rows=2)] == [2, 2, 1]
        assert [batch.num_rows for batch in batches(chunked)] == [5]

    def test_a_stream_keeps_its_own_batches(self) -> None:
        assert [batch.num_rows for batch in batches(TABLE.to_reader(max_chunksize=2), rows=100)] == [2, 2, 1]

    def test_one_chunk_is_not_copied(self) -> None:
        batch = pa.record_batch({"n": np.arange(1_000)})
        first, second = batches(batch, rows=600)
        address = batch.column("n").buffers()[1].address
        assert first.column("n").buffers()[1].address == second.column("n").buffers()[1].address == address

    def test_dictionaries_of_different_chunks_are_made_one(self) -> None:
        parts = [pa.table({"k": pa.array(values).dictionary_encode()}) for values in (["a", "b"], ["c", "a"])]
        (batch,) = batches(pa.concat_tables(parts))
        assert batch.column("k").to_pylist() == ["a", "b", "c", "a"]

    def test_a_stream_is_read_as_it_is_asked_for(self) -> None:
        def endless() -> Iterator[pa.Table]:
            while True:
                yield TABLE

        stream = batches(endless())
        assert [next(stream).num_rows for _ in range(3)] == [5, 5, 5]

    def test_an_index_without_a_name_is_left_out(self) -> None:
        (batch,) = batches(TABLE.to_pandas()[1:4])
        assert batch.schema.names == ["ts", "k"]
        assert batch.schema.metadata is None

    def test_a_type_that_changes_between_batches_is_refused(self) -> None:
        stream = [pa.table({"v": [1]}), pa.table({"v": ["1"]})]
        with pytest.raises(InputError, match=r"column 'v' is string in batch 1 and was int64 before.*the same types"):
            list(batches(stream))

    def test_a_column_without_a_type_yet_may_get_one(self) -> None:
        assert read([pa.table({"v": pa.nulls(1)}), pa.table({"v": [1]}), pa.table({"v": pa.nulls(1)})]) == [
            {"v": None}, {"v": 1}, {"v": None},
        ]  # fmt: skip

    def test_a_record_among_batches_is_refused(self) -> None:
        with pytest.raises(InputError, match="item 1 is a dict among batches"):
            list(batches([TABLE, {"ts": 1}]))

    def test_a_frame_of_mixed_types_is_refused_by_column(self) -> None:
        with pytest.raises(InputError, match=r"data frame does not make a table.*column v.*one type"):
            list(batches(pd.DataFrame({"v": [1, "x"]})))

    def test_an_arrow_stream_without_columns_is_refused(self) -> None:
        with pytest.raises(InputError, match="the Arrow stream of a ChunkedArray is no stream of rows"):
            batches(pa.chunked_array([[1]]))


class TestRecords:
    def test_they_are_gathered_lazily(self) -> None:
        taken = 0

        def endless() -> Iterator[dict[str, int]]:
            nonlocal taken
            while True:
                taken += 1
                yield {"ts": taken}

        stream = batches(endless())
        assert taken == 0
        assert next(stream).num_rows == taken == RECORD_ROWS

    def test_a_missing_field_is_null(self) -> None:
        assert read([{"ts": 1}, {"v": 2}, {}], rows=3) == [
            {"ts": 1, "v": None}, {"ts": None, "v": 2}, {"ts": None, "v": None},
        ]  # fmt: skip
        assert read([{"ts": 1, "v": 2}, {"ts": 2}], rows=1) == [{"ts": 1, "v": 2}, {"ts": 2, "v": None}]

    def test_a_record_without_any_field_is_a_row_all_the_same(self) -> None:
        assert [batch.num_rows for batch in batches([{}, {}, {}], rows=2)] == [2, 1]

    def test_a_column_gets_its_type_with_its_first_value(self) -> None:
        kinds = [batch.schema.field("v").type for batch in batches([{"v": None}, {"v": 1}, {"v": None}], rows=1)]
        assert kinds == [pa.null(), pa.int64(), pa.int64()]

    def test_whole_numbers_fit_a_column_of_floats(self) -> None:
        assert read([{"v": 1.5}, {"v": 2}], rows=1) == [{"v": 1.5}, {"v": 2.0}]

    def test_a_new_field_is_refused_by_place_name_and_value(self) -> None:
        with pytest.raises(
            InputError, match=r"record 3: the field 'b' \('x'\) is new; the columns so far are ts.*`schema`"
        ):
            read([{"ts": n} for n in range(3)] + [{"ts": 4, "b": "x"}], rows=2)

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (1, "x"), (1, 2.5), (1, 2.0), (1, Decimal("2.5")), (1, True), (1, 2**63), (1, np.float32(2.5)), ("x", 1),
            (1.5, True), (1.5, "x"), (True, 1), (date(2024, 1, 1), NOON), ([1], [2.5]), ({"a": 1}, {"b": 2}),
            ({"a": 1}, {"a": 2.5}), ([{"a": 1}], [{"a": 1, "b": 2}]), (Decimal("1.5"), Decimal("1.25")), (1, [1]),
        ],
    )  # fmt: skip
    def test_a_changed_type_is_refused_and_nothing_is_cut_off(self, before: Any, after: Any) -> None:
        """Arrow itself would make 2 of 2.5, and a date of noon, without a word."""
        with pytest.raises(
            InputError, match=r"record 2: the field 'v' is .* but the column is .*Convert the value, or"
        ):
            read([{"v": before}, {"v": before}, {"v": after}], rows=2)

    @pytest.mark.parametrize("values", [[1, "x"], [True, 1], [date(2024, 1, 1), NOON], ["x", 1], [[1], 1]])
    def test_types_that_differ_within_a_batch_are_refused_at_the_first_that_does(self, values: list[Any]) -> None:
        same, other = values
        with pytest.raises(InputError, match=r"record 5: the field 'v' is"):
            read([{"v": same}] * 5 + [{"v": other}] + [{"v": same}] * 5)

    def test_a_value_that_no_column_holds_is_refused(self) -> None:
        with pytest.raises(
            InputError, match=r"record 1: the field 'v' is .*\(object\), but no column holds such a value"
        ):
            read([{"v": None}, {"v": object()}])

    def test_a_long_value_is_shortened_in_the_message(self) -> None:
        with pytest.raises(InputError) as refused:
            read([{"v": 1}, {"v": "x" * 1_000_000}])
        assert len(str(refused.value)) < 400

    @pytest.mark.parametrize("record", [1, None, ("ts", 1), "ts", ["ts"]])
    def test_what_is_no_record_is_refused_by_place(self, record: Any) -> None:
        with pytest.raises(InputError, match=r"record 1: .* not a dict\. Pass each record as a dict"):
            read([{"ts": 1}, record])

    def test_fields_are_named_by_text(self) -> None:
        with pytest.raises(InputError, match="the field 1 is named by a int"):
            read([{1: 2}])

    def test_one_record_of_ten_megabytes_is_a_record(self) -> None:
        blob = "x" * 10_000_000
        assert read([{"ts": 1, "blob": blob}]) == [{"ts": 1, "blob": blob}]
        assert as_batch({"ts": 1, "blob": blob}).column("blob")[0].as_py() == blob

    def test_what_the_users_iterator_raises_is_theirs(self) -> None:
        def broken() -> Iterator[dict[str, int]]:
            yield {"ts": 1}
            raise ConnectionError("gone")

        with pytest.raises(ConnectionError, match="gone"):
            list(batches(broken()))


class TestSchema:
    SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("v", pa.float32()), ("k", pa.large_string())])

    def test_it_settles_columns_types_and_their_order(self) -> None:
        (batch,) = batches([{"v": 1, "ts": NOON}], schema=self.SCHEMA)
        assert batch.schema.equals(self.SCHEMA)
        assert batch.to_pylist() == [{"ts": NOON, "v": 1.0, "k": None}]

    def test_a_field_it_does_not_name_is_refused(self) -> None:
        with pytest.raises(InputError, match=r"record 0: the field 'w' \(1\) is new"):
            read([{"ts": NOON, "w": 1}], schema=self.SCHEMA)

    @pytest.mark.parametrize(
        ("kind", "fits", "refused"),
        [
            (pa.uint64(), 2**64 - 1, -1),
            (pa.uint64(), 2**63, 2.5),
            (pa.int8(), 127, 128),
            (pa.timestamp("ms"), NOON, NOON + timedelta(microseconds=1)),
            (pa.duration("s"), timedelta(seconds=1), timedelta(microseconds=1)),
            (pa.date32(), date(2024, 1, 1), NOON),
            (pa.decimal128(5, 2), Decimal("1.50"), Decimal("1.555")),
            (pa.dictionary(pa.int32(), pa.string()), "x", 1),
            (pa.list_(pa.float64()), [1], [True]),
            (pa.map_(pa.string(), pa.int64()), [("a", 1)], [("a", "b")]),
        ],
    )
    def test_values_fit_it_whole_or_are_refused(self, kind: Any, fits: Any, refused: Any) -> None:
        schema = pa.schema([("v", kind)])
        (batch,) = batches([{"v": fits}, {"v": None}], schema=schema)
        assert batch.schema.equals(schema)
        with pytest.raises(InputError, match="record 2: the field 'v' is"):
            read([{"v": fits}, {"v": None}, {"v": refused}], schema=schema)


class TestRefused:
    @pytest.mark.parametrize("source", ["orders.csv", b"x", 5, None, object()])
    def test_what_holds_no_records(self, source: Any) -> None:
        with pytest.raises(InputError, match=r"source: .* holds no records\. Pass an Arrow table"):
            batches(source)
        with pytest.raises(InputError, match=r"add: .* holds no records\. Pass an Arrow table"):
            as_batch(source)

    def test_one_mapping_may_mean_two_things(self) -> None:
        with pytest.raises(InputError, match=r"one mapping of ts, v .*Pass \[record\] for the one"):
            batches({"ts": [1, 2], "v": [3, 4]})  # type: ignore[arg-type]

    @pytest.mark.parametrize("rows", [0, -1])
    def test_batches_of_no_rows(self, rows: int) -> None:
        with pytest.raises(InputError, match=rf"`rows` \({rows}\) must be at least 1"):
            batches(TABLE, rows=rows)


class TestAsBatch:
    @pytest.mark.parametrize(
        "kind", [kind for kind in EVERY_KIND if not kind.endswith(("batches", "tables", "frames"))]
    )
    def test_one_bundle_is_one_batch(self, kind: str) -> None:
        batch = as_batch(EVERY_KIND[kind]())
        assert isinstance(batch, pa.RecordBatch)
        assert batch.to_pylist() == ROWS

    def test_one_record_is_a_bundle(self) -> None:
        assert as_batch({"ts": 1, "k": "a"}).to_pylist() == [{"ts": 1, "k": "a"}]

    def test_no_records_are_a_batch_without_rows(self) -> None:
        assert as_batch([]).num_rows == 0
        assert as_batch([], TABLE.schema).schema.equals(TABLE.schema)
        assert as_batch(TABLE.slice(0, 0)).schema.equals(TABLE.schema)

    def test_records_follow_the_schema_of_those_before(self) -> None:
        batch = as_batch({"ts": 1, "v": 1.5})
        assert as_batch([{"v": 2}], batch.schema).to_pylist() == [{"ts": None, "v": 2.0}]
        with pytest.raises(InputError, match="record 1: the field 'v' is 'x'"):
            as_batch([{"ts": 1}, {"v": "x"}], batch.schema)


_VALUES = st.one_of(st.none(), st.integers(-5, 5), st.text(max_size=2), st.booleans(), st.floats(-2, 2))


@given(st.lists(st.dictionaries(st.sampled_from("abc"), _VALUES), max_size=12), st.integers(1, 5))
def test_records_come_out_as_they_went_in_or_are_refused(records: list[dict[str, Any]], rows: int) -> None:
    try:
        out = read(records, rows=rows)
    except InputError:
        return
    assert len(out) == len(records)
    for before, after in zip(records, out, strict=True):
        assert before.items() <= after.items()
        assert all(after[name] is None for name in after.keys() - before.keys())


_WITHOUT_PANDAS = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from fanlight.embedded.sources import as_bundle, bundles
assert [came.batch.to_pylist() for came in bundles([{"ts": 1}])] == [[{"ts": 1}]]
assert as_bundle({"ts": 1}).batch.num_rows == 1
assert "pandas" not in sys.modules
"""


def test_pandas_need_not_be_there() -> None:
    subprocess.run([sys.executable, "-c", _WITHOUT_PANDAS], check=True, env={"PYTHONPATH": ":".join(sys.path)})
