"""Values that do not fit: what fits exactly is converted, the rest is a dead letter, and the run goes on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import fanlight as fl

from .orders import TOTALS, S, counts, order, reasons, said

GUESSED = r"'v' is .* where int64 was expected.*types came from the first bundle.*`schema`.*strict=True"
SCHEMA = pa.schema({"ts": pa.int64(), "v": pa.int64()})


def totals(source: Iterable[Any], **options: Any) -> fl.Result:
    """The sum in one window of a minute; two records a bundle."""
    stream = fl.stream(source, time="ts", unit="s", rows=2, delay="0 s", **options)
    return stream.window(fl.tumbling("1 minute")).agg(n=fl.count(), total=fl.sum("v"))


def records(*values: Any) -> list[dict[str, Any]]:
    return [{"ts": ts, "v": value} for ts, value in enumerate(values)]


def rows(result: fl.Result) -> list[tuple[int, Any]]:
    return [(row["n"], row["total"]) for row in result.table().to_pylist()]


def letters(result: fl.Result) -> list[tuple[int, Any, Any]]:
    """Time, the value as the record still has it, and what the detail says it was."""
    found = result.dead_letters.to_pylist()
    assert {letter["reason"] for letter in found} <= {"malformed"}
    details = [json.loads(letter["detail"]) for letter in found]
    assert all(detail["field"] == "v" and detail["expected"] == "int64" for detail in details)
    return [
        (letter["record"]["ts"], letter["record"]["v"], detail["value"])
        for letter, detail in zip(found, details, strict=True)
    ]


class TestRecords:
    def test_text_where_a_number_was_is_a_dead_letter_and_the_run_goes_on(self) -> None:
        result = totals(records(1, 2, "abc", 4, 5), schema=SCHEMA)
        assert rows(result) == [(4, 12)]
        assert letters(result) == [(2, None, "abc")]
        assert result.accounting.adds_up

    def test_what_fits_exactly_is_converted(self) -> None:
        """2.0 and a decimal without a fraction are whole numbers; 2.5, NaN, 1e300 and true are not."""
        values = [1, 2.0, Decimal("3"), 2.5, float("nan"), 1e300, True, Decimal("0.5"), 2**70, None]
        result = totals(records(*values), schema=SCHEMA)
        assert rows(result) == [(4, 6)]
        assert [told for *_, told in letters(result)] == [2.5, "nan", 1e300, True, "0.5", 2**70]

    def test_text_is_no_number_even_if_it_reads_like_one(self) -> None:
        assert letters(totals(records(1, "2"), schema=SCHEMA)) == [(1, None, "2")]

    def test_a_whole_number_among_timestamps_is_malformed_because_it_has_no_unit(self) -> None:
        schema = pa.schema({"ts": pa.timestamp("us", "UTC"), "v": pa.int64()})
        result = totals(
            [{"ts": datetime(2026, 1, 1, tzinfo=UTC), "v": 1}, {"ts": 1_700_000_000_000, "v": 2}], schema=schema
        )
        assert rows(result) == [(1, 1)]
        assert json.loads(result.dead_letters.to_pylist()[0]["detail"])["field"] == "ts"

    def test_all_faults_of_a_record_are_told(self) -> None:
        result = totals([{"ts": 1, "v": 1}, {"ts": "soon", "v": object}], schema=SCHEMA)
        detail = json.loads(result.dead_letters.to_pylist()[0]["detail"])
        assert (detail["field"], detail["value"], detail["others"][0]["field"]) == ("ts", "soon", "v")

    def test_without_a_schema_the_first_such_letter_warns_that_types_were_guessed(self) -> None:
        result = totals(records(1, 2, "abc", 4, "def"))
        with pytest.warns(fl.FanlightWarning, match=GUESSED) as said_so:
            assert rows(result) == [(3, 7)]
        assert len(said_so) == 1

    @pytest.mark.parametrize(
        ("values", "expected"),
        [((1, "x", 2.5), 3.5), (("x", 1, "y"), None), ((None, object(), 3, object()), 3)],
        ids=["number", "text", "nothing first"],
    )
    def test_in_the_first_bundle_the_first_value_says_what_kind_of_thing_it_is(
        self, values: Any, expected: Any
    ) -> None:
        """Numbers may still be of several types: 1 and 2.5 make a column of fractions."""
        stream = fl.stream(records(*values), time="ts", unit="s").window(fl.tumbling("1 minute"))
        result = stream.agg(all=fl.list("v"))
        with pytest.warns(fl.FanlightWarning, match="where .* was expected"):
            kept = result.table().column("all").to_pylist()[0]
        alike = [value for value in kept if value is not None]
        assert alike == ["x", "y"] if expected is None else sum(alike) == expected

    def test_a_field_nobody_asked_for_is_ignored_and_said_once(self) -> None:
        late = [{"ts": 2, "v": 3, "w": 1}, {"ts": 3, "v": 4, "x": 1}, {"ts": 4, "v": 5, "w": 1}]
        result = totals([*records(1, 2), *late])
        with pytest.warns(
            fl.FanlightWarning, match=r"'w' is not a column, so it is ignored; the columns are ts, v\."
        ) as said_so:
            assert rows(result) == [(5, 15)]
        assert len(said_so) == 1
        assert result.dead_letters.num_rows == 0

    def test_strict_stops_instead(self) -> None:
        for values, message in (("abc", "'v' is 'abc' .str., but the column is int64"), (2.5, "'v' is 2.5")):
            with pytest.raises(fl.InputError, match=f"record 2: the field {message}"):
                totals(records(1, 2, values), strict=True).table()
        with pytest.raises(fl.InputError, match=r"the field 'w' .1. is new"):
            totals([*records(1, 2), {"ts": 3, "w": 1}], strict=True).table()


def batch(*values: Any, kind: Any = None, first: int = 0) -> pa.RecordBatch:
    times = pa.array(range(first, first + len(values)))
    return pa.record_batch({"ts": times, "v": pa.array(values, kind)})


class TestColumns:
    def test_another_type_is_converted_value_by_value(self) -> None:
        """2.0 fits int64, 2.5 does not; nor does text, whatever it says. Nulls stay nulls."""
        batches = [batch(1, 2), batch(2.0, 2.5, None, first=2), batch("x", None, first=5), batch(7, 8, first=7)]
        result = totals(batches, schema=SCHEMA)
        assert rows(result) == [(7, 20)]
        assert letters(result) == [(3, None, 2.5), (5, None, "x")]

    def test_narrow_and_wide_whole_numbers_meet(self) -> None:
        result = totals([batch(1, kind=pa.int8()), batch(127, 128, kind=pa.int64(), first=1)], schema=None)
        with pytest.warns(fl.FanlightWarning, match="'v' is 128 where int8 was expected"):
            assert rows(result) == [(2, 128)]

    @pytest.mark.parametrize("first", [0, 1])
    def test_a_data_frame_with_a_column_of_several_kinds_is_read_value_by_value(self, first: int) -> None:
        """Such a frame makes no table; NaN in it is null, as pandas means it. Whether it is the first makes no odds."""
        frames = [pd.DataFrame({"ts": [0, 1], "v": [1, 2]})] * first
        mixed = pd.DataFrame({"ts": [2, 3, 4], "v": pd.Series([7, "x", float("nan")], dtype=object)})
        result = totals([*frames, mixed], schema=SCHEMA)
        assert rows(result) == [(2 + 2 * first, 7 + 3 * first)]
        assert letters(result) == [(3, None, "x")]

    def test_a_column_that_was_a_dictionary_takes_plain_values(self) -> None:
        """And the other way round: a dictionary is a way to write values down, no kind of value."""
        coded = batch(1).set_column(1, "v", batch(1)["v"].dictionary_encode())
        for one, other in ((coded, batch(2, first=1)), (batch(2, first=1), coded)):
            assert rows(totals([one, other, batch(3, first=2)])) == [(3, 6)]

    def test_one_misfit_among_many_is_found(self) -> None:
        values = [float(n) for n in range(1_000)]
        values[617] += 0.5
        result = fl.stream([batch(0), batch(*values, first=1)], time="ts", unit="s", delay="0 s", schema=SCHEMA)
        counted = result.window(fl.tumbling("1 hour")).agg(n=fl.count(), total=fl.sum("v"))
        assert rows(counted) == [(1_000, 999 * 1_000 // 2 - 617)]
        assert letters(counted) == [(618, None, 617.5)]

    def test_a_column_nobody_asked_for_is_ignored_and_said_once(self) -> None:
        wide = batch(3, first=1).append_column("w", pa.array([1]))
        result = totals([batch(1), wide, wide])
        with pytest.warns(fl.FanlightWarning, match="The field 'w' is not a column") as said_so:
            assert rows(result) == [(3, 7)]
        assert len(said_so) == 1

    def test_a_column_that_is_missing_stays_an_error(self) -> None:
        with pytest.raises(fl.InputError, match="Column 'v' is not in the input"):
            totals([batch(1), pa.record_batch({"ts": [1]})]).table()

    def test_a_clock_column_may_change_its_type_too(self) -> None:
        """Seconds as whole numbers, then as fractions: 9.0 is a clock, 9.5 is not, and text is none."""
        arrived = [pa.array([1]), pa.array([9.0, 9.5]), pa.array(["noon"])]
        batches = [batch(*[1] * len(one)).append_column("arrived", one) for one in arrived]
        schema = pa.schema([*SCHEMA, pa.field("arrived", pa.int64())])
        result = totals(batches, schema=schema, clock="arrived")
        assert rows(result) == [(2, 2)]
        assert [json.loads(text)["value"] for text in result.dead_letters["detail"].to_pylist()] == [9.5, "noon"]

    def test_strict_stops_instead(self) -> None:
        with pytest.raises(fl.InputError, match="column 'v' is double in batch 1 and was int64 before"):
            totals([batch(1), batch(2.5)], strict=True).table()


class TestTheOperator:
    def test_malformed_records_have_offsets_like_others_and_come_to_no_hook(self) -> None:
        """The hook sees one record of the two; what comes again is a duplicate, not a second letter."""
        seen: list[int] = []

        def hook(came: pa.RecordBatch) -> pa.RecordBatch:
            seen.append(len(came))
            return came

        schema = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()})
        operator = TOTALS.operator(schema=schema, before_process=hook)
        for _ in range(2):
            operator.add([order(1), {**order(2), "v": "x"}], offset=0)
        assert seen == [1, 0]
        assert reasons(operator) == ["malformed"]
        assert counts(operator) == (4, 1, 2, 1)
        operator.advance(watermark=10 * S)
        assert said(operator.take()) == [("tea", 0, "ON_TIME", 1)]

    def test_a_bundle_of_nothing_else_moves_no_watermark(self) -> None:
        spec = fl.stream([], time="ts", unit="s").window(fl.tumbling("10 s")).agg(n=fl.count()).spec
        operator = fl.WindowOperator(spec, schema=SCHEMA)
        operator.add([{"ts": 5, "v": 1}])
        operator.add([{"ts": 90, "v": "x"}])
        assert operator.watermark == 5 * S
        assert reasons(operator) == ["malformed"]

    def test_a_snapshot_holds_the_details_too(self) -> None:
        operator = fl.WindowOperator(totals([]).spec, schema=SCHEMA)
        operator.add([{"ts": 5, "v": "x"}])
        again = fl.WindowOperator.restore(operator.spec, operator.snapshot())
        assert again.dead_letters.to_pylist() == operator.dead_letters.to_pylist() != []

    def test_nothing_is_said_where_all_is_well(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            operator = TOTALS.operator()
            operator.add([order(1), order(2)])
            operator.add(pa.table({"ts": [3], "k": ["tea"], "v": [4.0]}))
            assert counts(operator) == (3, 3, 0, 0)

    def test_a_strict_operator_stops_and_is_as_before(self) -> None:
        operator = TOTALS.operator(strict=True)
        operator.add([order(1)])
        with pytest.raises(fl.InputError, match=r"'v' is 'x' .str., but the column is int64"):
            operator.add([{**order(2), "v": "x"}])
        assert counts(operator) == (1, 1, 0, 0)
