"""`stream.unique_by()` in this process, as a user has it: one row of each id, everything else accounted for."""

from __future__ import annotations

from typing import Any

import pytest

import fanlight as fl

S = 1_000_000


def paid(ts: int | None, number: int = 1, shop: str = "x") -> dict[str, Any]:
    return {"ts": ts, "id": number, "shop": shop}


PAYMENTS = [paid(12), paid(9, 2), paid(14), paid(None), paid(20, 2), paid(31), paid(2, 3), paid(22, shop="y")]
"""With a delay of 5 s and one record a bundle, 31 takes the watermark to 26: from then on what is before 16 is expired.
The last, 22, is in reach of 12, and of 31.
"""


def payments(**options: Any) -> fl.Stream:
    return fl.stream(PAYMENTS, time="ts", unit="s", delay="5 seconds", rows=1, **options)


def times(result: fl.RowResult[Any]) -> list[int]:
    found: list[int] = result.table().column("ts").to_pylist()
    return found


class TestResult:
    def test_the_first_of_each_id_leaves_with_the_columns_that_came(self) -> None:
        result = payments().unique_by("id", within="10 s")
        assert result.table().to_pylist() == [paid(12), paid(9, 2), paid(20, 2), paid(31)]

    def test_duplicates_and_letters_are_counted_and_all_adds_up(self) -> None:
        result = payments().unique_by("id", within="10 s")
        assert [(one["reason"], one["record"]["ts"]) for one in result.dead_letters.to_pylist()] == [
            ("null_time", None),
            ("expired", 2),
        ]
        counted = result.accounting
        assert (counted.received, counted.accepted, counted.duplicates, counted.dead_letters) == (8, 4, 2, 2)
        assert counted.adds_up

    def test_the_last_of_each_id(self) -> None:
        """20 takes the watermark to 15, 31 to 26: 22 comes below it."""
        result = payments().unique_by("id", within="10 s", keep="last")
        assert times(result) == [9, 14, 20, 31]
        counted = result.accounting
        assert (counted.accepted, counted.duplicates, counted.dead_letters) == (4, 1, 3)

    def test_with_keys_ids_are_per_key(self) -> None:
        """The last payment is the first of shop y."""
        assert times(payments().key_by("shop").unique_by("id", within="10 s")) == [12, 9, 20, 31, 22]

    def test_it_says_what_it_does(self) -> None:
        told = payments().unique_by("id", within="10 s").explain()
        assert "`id`; records of one id within 10 s are the same" in told

    def test_what_is_left_out_before_is_filtered(self) -> None:
        result = payments().where(fl.col("id") != 1).unique_by("id", within="10 s")
        assert times(result) == [9, 20]
        assert result.accounting.filtered == 5

    def test_a_union_counts_duplicates_by_input(self) -> None:
        """What the second input brings in reach of what the first brought is a duplicate of the second."""
        for keep, left in (("first", [1, 50]), ("last", [2, 50])):
            one = fl.stream([paid(1), paid(50)], time="ts", unit="s")
            other = fl.stream([paid(2)], time="ts", unit="s")
            result = fl.union(one=one, other=other).unique_by("id", within="10 s", keep=keep)  # type: ignore[arg-type]
            assert times(result) == left
            by_input = result.accounting_by_input
            repeated = {name: book.duplicates for name, book in by_input.items()}
            assert repeated == ({"one": 0, "other": 1} if keep == "first" else {"one": 1, "other": 0})
            assert all(book.adds_up for book in by_input.values())


class TestStages:
    def test_nothing_is_late_for_the_next_stage(self) -> None:
        """3 comes when the watermark is 10, and leaves: the window of 0 to 5 is still open next door."""
        came = [paid(1), paid(10, 2), paid(3, 3), paid(40, 4)]
        unique = fl.stream(came, time="ts", unit="s", rows=1, delay="0 s").unique_by("id", within="10 s")
        counts = unique.window(fl.tumbling("5 s")).agg(n=fl.count())
        assert counts.table().column("n").to_pylist() == [2, 1, 1]
        assert not len(counts.dead_letters)

    def test_sort_puts_its_rows_in_order_and_loses_none(self) -> None:
        unique = payments().unique_by("id", within="10 s")
        assert times(unique.sort()) == [9, 12, 20, 31]

    def test_results_can_be_told_apart_too(self) -> None:
        counts = payments().key_by("id").window(fl.tumbling("10 s")).agg(n=fl.count())
        assert len(counts.unique_by("id", within="1 h").table()) == 2


class TestByHand:
    def test_records_in_by_hand_and_rows_out(self) -> None:
        stream = fl.stream([], time="ts", unit="s", watermark=fl.Explicit())
        operator = stream.unique_by("id", within="10 s").operator()
        operator.add([paid(5), paid(6), paid(7, 2)])
        assert operator.take().to_pylist() == [paid(5), paid(7, 2)]
        other = fl.StandaloneOperator.restore(operator.spec, operator.snapshot())
        other.add([paid(15), paid(16)])
        assert other.take().to_pylist() == [paid(16)]
        other.end()
        assert len(other.take()) == 0


class TestRefusals:
    def test_changes_are_sorted_first(self) -> None:
        changes = fl.stream([], time="ts", unit="s", op="op")
        with pytest.raises(fl.SpecError, match=r"unique_by: this stream has changes \(`op`\).*sort\(\)\.unique_by"):
            changes.unique_by("id", within="1 s")

    @pytest.mark.parametrize(
        ("columns", "said", "told"),
        [
            ((), {"within": "1 s"}, "unique_by: needs a column"),
            ((["id"],), {"within": "1 s"}, r"unique_by: \['id'\] is a list.*Write unique_by\('id'\)"),
            (("id",), {"within": "forever"}, r"unique_by: `within` \(forever\)"),
            (("id",), {"within": 7}, "Duration: 7 is a int, which says no unit"),
            (("id",), {"within": "1 s", "keep": "any"}, "keep: 'any' is not one of first, last"),
        ],
    )
    def test_a_mistake_is_named(self, columns: Any, said: Any, told: str) -> None:
        with pytest.raises(fl.SpecError, match=told):
            payments().unique_by(*columns, **said)

    def test_windows_are_told_where_it_stands(self) -> None:
        with pytest.raises(AttributeError, match=r"say unique_by\(…\) in the place of window\(…\) and agg\(…\)"):
            payments().window(fl.tumbling("1 s")).unique_by  # type: ignore[attr-defined]  # noqa: B018
