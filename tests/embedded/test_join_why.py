"""`why`: what keeps two rows from joining, told by the pipeline, and by what a standalone join keeps."""

from __future__ import annotations

import re
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import InputError, SpecError
from fanlight.model.time.timestamp import END_OF_TIME

S = 1_000_000
MINUTE = fl.interval("0 s", "1 min")
ORDERS = [{"ts": 10, "id": 1, "price": 30}, {"ts": 300, "id": 2, "price": 12}, {"ts": 20, "id": 3, "price": 7}]
"""With a delay of 5 s and bundles of one, the order of 20 comes when the watermark is at 295."""
PAID = [
    {"at": 15, "order": 1, "cents": 3000},
    {"at": 310, "order": 2, "cents": 5},
    {"at": 30, "order": 3, "cents": 700},
]
PAYS = fl.col("cents") >= fl.col("price") * 100


def joined(how: Any = "left", **options: Any) -> fl.JoinResult:
    left = fl.stream(ORDERS, time="ts", unit="s", rows=1, delay="5 s", name="o").key_by("id")
    right = fl.stream(PAID, time="at", unit="s", rows=1, delay="10 min", name="p").key_by("order")
    return left.join(right, MINUTE, how=how, where=PAYS, **options)


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        (ORDERS[0], PAID[0], "joined: they match, and both were accepted"),
        (ORDERS[0], PAID[1], "other_key: `id` of o is 1, `order` of p is 2"),
        ({**ORDERS[0], "id": None}, PAID[1], "other_key: .* is None, .* null equals nothing"),
        (ORDERS[0], {**PAID[0], "at": 95}, r"outside: p is 85 s after o, which is 25 s too late: .*\[0 s, 1 min\]"),
        (ORDERS[0], {**PAID[0], "at": 8}, "outside: p is 2 s before o, which is 2 s too early"),
        (ORDERS[1], PAID[1], "condition: of these rows it is not true: where "),
        (ORDERS[2], PAID[2], "late: the row of o came 275 s behind its watermark, which was 1970-01-01T00:04:55Z"),
        (ORDERS[0], {**PAID[0], "cents": 4000}, "never_came: there is no such row among those of p"),
        ({"ts": 10, "id": 1, "price": 30}, {"at": 15, "order": 1, "cents": 3000}, "joined"),
    ],
)
def test_a_pipeline_reads_its_source_once_more(how: Any, left: Any, right: Any, told: str) -> None:
    found = fl.why(joined(how), left=left, right=right)
    assert re.match(told, str(found)), str(found)


def test_lateness_counts() -> None:
    assert fl.why(joined(lateness="5 min"), left=ORDERS[2], right=PAID[2]).verdict is fl.JoinVerdict.JOINED


def test_where_late_records_are_taken_the_other_row_must_still_be_kept() -> None:
    """As in Kafka: the order of 10 is gone when the payment of 15 comes, and that of 300 is kept."""
    orders = [{"ts": 10, "id": 1}, {"ts": 300, "id": 2}]
    paid = [{"at": 310, "order": 9}, {"at": 310, "order": 9}, {"at": 15, "order": 1}, {"at": 300, "order": 2}]
    left = fl.stream(orders, time="ts", unit="s", rows=1, delay="0 s", name="o").key_by("id")
    right = fl.stream(paid, time="at", unit="s", rows=1, delay="0 s", name="p").key_by("order")
    result = left.join(right, MINUTE, how="left", combine="greatest").semantics("kafka")
    assert [(row["ts"], row["at"]) for row in result.table().to_pylist()] == [(10, None), (300, 300)]
    told = [str(fl.why(result, left=order, right=payment)) for order, payment in zip(orders, paid[2:], strict=True)]
    assert told[0] == "late: both came, the later one when the other was not kept any more"
    assert told[1].startswith("joined")


def test_a_row_that_a_change_has_deleted() -> None:
    changes = [{**ORDERS[0], "op": op} for op in ("+I", "-D")]
    left = fl.stream(changes, time="ts", unit="s", rows=1, delay="0 s", name="o", op="op", unique="id").key_by("id")
    right = fl.stream(PAID, time="at", unit="s", name="p").key_by("order")
    found = fl.why(left.join(right, MINUTE, where=PAYS), left=ORDERS[0], right=PAID[0])
    assert str(found) == "taken_back: a change has deleted the row of o"
    assert fl.why(left.join(right, MINUTE), left=changes[0], right=PAID[0]) == found


def test_a_row_that_is_a_dead_letter_for_another_reason() -> None:
    far = {"ts": 400_000, "id": 1, "price": 30}
    left = fl.stream([far], time="ts", unit="s", name="o", clock=lambda: 0, ahead="1 h").key_by("id")
    right = fl.stream([{"at": 400_001, "order": 1}], time="at", unit="s", name="p", ahead="1 h").key_by("order")
    found = fl.why(left.join(right, MINUTE), left=far, right={"at": 400_001, "order": 1})
    assert found.verdict is fl.JoinVerdict.DEAD_LETTER
    assert found.told.endswith("is a dead letter: too_far_ahead")


class TestByHand:
    def operator(self, mode: str) -> Any:
        left, right = (
            fl.stream([], time=time, unit="s", name=name, watermark=fl.Explicit()).key_by(key)
            for time, name, key in (("ts", "o", "id"), ("at", "p", "order"))
        )
        return getattr(left.join(right, MINUTE, how="left"), mode)().operator()

    def verdict(self, operator: Any) -> str:
        return str(fl.why(operator, left=ORDERS[0], right=PAID[0]))

    def test_nothing_has_come(self) -> None:
        told = "waiting: the row of p has not come; it can until the watermark of p has passed 1970-01-01T00:00:15Z"
        assert self.verdict(self.operator("eager")).startswith(told)

    @pytest.mark.parametrize("mode", ["eager", "retracting"])
    def test_both_are_here(self, mode: str) -> None:
        operator = self.operator(mode)
        operator.add(ORDERS[:1], source="o")
        assert self.verdict(operator).startswith("waiting: the row of p has not come")
        operator.add(PAID[:1], source="p")
        assert self.verdict(operator).startswith("joined")

    def test_on_close_both_wait_until_the_order_is_complete(self) -> None:
        operator = self.operator("on_close")
        operator.add(ORDERS[:1], source="o")
        operator.add(PAID[:1], source="p")
        assert self.verdict(operator) == (
            "waiting: both are here, and leave when the watermark of o has passed 1970-01-01T00:00:10Z "
            "(it is at the start of time) and the watermark of p has passed 1970-01-01T00:01:10Z "
            "(it is at the start of time)"
        )

    def test_a_payment_that_cannot_come_in_time_any_more(self) -> None:
        """The watermark of payments is past 15 s, and the order is still kept for those up to 70 s."""
        operator = self.operator("eager")
        operator.add(ORDERS[:1], source="o")
        operator.advance(watermark=40 * S, source="p")
        assert self.verdict(operator).startswith("late: the row of p has not come in time: 25 s behind the watermark")
        operator.add(PAID[:1], source="p")
        assert self.verdict(operator).startswith("late: the row of p came 25 s behind its watermark")

    def test_what_is_passed_is_forgotten(self) -> None:
        operator = self.operator("eager")
        operator.add(ORDERS[:1], source="o")
        operator.add(PAID[:1], source="p")
        for side in ("o", "p"):
            operator.advance(watermark=END_OF_TIME - 1, source=side)
        assert self.verdict(operator).startswith("forgotten: the row of p is passed by the watermark of p")


class TestRefused:
    def test_a_row_without_its_time_or_key(self) -> None:
        with pytest.raises(InputError, match="the row of 'p' has no `order`"):
            fl.why(joined(), left=ORDERS[0], right={"at": 15})
        with pytest.raises(InputError, match="the row of 'o' has no time in `ts`"):
            fl.why(joined(), left={**ORDERS[0], "ts": None}, right=PAID[0])

    def test_what_is_no_join(self) -> None:
        counted: Any = fl.stream(ORDERS, time="ts", unit="s").window(fl.tumbling("1 min")).agg(n=fl.count())
        with pytest.raises(SpecError, match="is no join"):
            fl.why(counted, left=ORDERS[0], right=PAID[0])
