"""`fl.join(o=…, p=…, s=…)`: orders, their payments and their shipments as one row, told as stories."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import FanlightError, InputError, SpecError
from fanlight.state.memory import MemoryStore

S = 1_000_000
HOUR = fl.interval("0 s", "1 h")
FIVE = fl.interval("0 s", "5 s")

ORDERS = [{"ts": 10, "id": 1, "price": 30}, {"ts": 20, "id": 2, "price": 12}, {"ts": 40, "id": 3, "price": 7}]
PAID = [
    {"at": 15, "order": 1, "cents": 1000},
    {"at": 18, "order": 1, "cents": 2000},
    {"at": 41, "order": 3, "cents": 700},
]
SENT = [{"sent": 60, "id": 1, "parcel": "x"}, {"sent": 61, "id": 2, "parcel": "y"}]


def stream(records: Any, time: str = "ts", key: str | None = "id", **options: Any) -> fl.Stream:
    read = fl.stream(records, **{"time": time, "unit": "s", "delay": "1 s", **options})
    return read if key is None else read.key_by(key)


def joined(o: Any = ORDERS, p: Any = PAID, s: Any = SENT, **options: Any) -> fl.NWayJoinResult:
    streams = {"o": stream(o), "p": stream(p, "at", "order"), "s": stream(s, "sent")}
    return fl.join(**streams, **{"match": HOUR, **options})


def by_hand(mode: str = "eager", **options: Any) -> fl.StandaloneJoin:
    """An operator to be fed, whose watermarks are as far as they are told."""
    streams = {name: stream([], watermark=fl.Explicit(), delay=None) for name in ("o", "p", "s")}
    result = fl.join(**streams, **{"match": FIVE, **options})
    operator: fl.StandaloneJoin = getattr(result, mode)().operator()
    return operator


def rows(result: Any, *names: str) -> list[tuple[Any, ...]]:
    table = result.take() if isinstance(result, fl.StandaloneOperator) else result.table()
    return [tuple(row.get(name) for name in names) for row in table.to_pylist()]


class TestWhatLeaves:
    def test_order_1_was_paid_twice_and_sent_2_was_not_paid_and_3_not_sent(self) -> None:
        assert joined().table().to_pylist() == [
            {"ts": 10, "id": 1, "price": 30, "at": 15, "cents": 1000, "sent": 60, "parcel": "x"},
            {"ts": 10, "id": 1, "price": 30, "at": 18, "cents": 2000, "sent": 60, "parcel": "x"},
        ]

    def test_a_left_join_has_every_order_with_nulls_for_what_is_missing(self) -> None:
        assert rows(joined(how="left"), "id", "cents", "parcel") == [
            (1, 1000, "x"),
            (1, 2000, "x"),
            (2, None, "y"),
            (3, 700, None),
        ]

    def test_every_match_of_one_input_meets_every_match_of_another(self) -> None:
        """In the order of the inputs, and in each by time, then as they came."""
        sent = [{"sent": 70, "id": 1, "parcel": "z"}, *SENT]
        assert rows(joined(s=sent), "at", "sent") == [(15, 60), (15, 70), (18, 60), (18, 70)]

    def test_inputs_match_the_first_and_not_each_other(self) -> None:
        """The payment is 20 s before the shipment, and both are within 10 s of the order."""
        near = {"p": fl.interval("-10 s", "0 s"), "s": fl.interval("0 s", "10 s")}
        found = joined([{"ts": 50, "id": 1}], [{"at": 40, "order": 1}], [{"sent": 60, "id": 1}], match=near)
        assert rows(found, "ts", "at", "sent") == [(50, 40, 60)]

    def test_one_match_for_all_or_one_for_each(self) -> None:
        each = {"p": fl.interval("0 s", "6 s"), "s": HOUR}
        assert rows(joined(match=each), "at", "sent") == [(15, 60)]

    def test_a_condition_decides_what_matches_one_input(self) -> None:
        """So in a left join an order that was paid too little stays, as one that was not paid."""
        enough = {"p": fl.col("p.cents") >= fl.col("o.price") * 50}
        assert rows(joined(how="left", where=enough), "id", "cents") == [(1, 2000), (2, None), (3, 700)]

    def test_a_condition_over_whole_combinations_reads_all_inputs(self) -> None:
        assert rows(joined(where=fl.col("p.at") + fl.col("sent") > 75), "at") == [(18,)]
        two = {"o": stream(ORDERS), "p": stream(PAID, "at", "order"), "match": HOUR, "how": "left"}
        assert rows(fl.join(**two, where=fl.col("cents") > fl.col("o.price") * 50), "id", "at") == [
            (1, 18),
            (2, None),
            (3, 41),
        ]

    def test_a_null_key_matches_nothing(self) -> None:
        nobody = [{"ts": 10, "id": None, "price": 1}]
        paid, sent = [{"at": 11, "order": None, "cents": 5}, *PAID], [{"sent": 12, "id": None, "parcel": "?"}, *SENT]
        assert rows(joined(nobody, paid, sent), "id") == []
        assert rows(joined(nobody, paid, sent, how="left"), "id", "cents", "parcel") == [(None, None, None)]

    def test_without_keys_times_alone_count(self) -> None:
        streams = {name: stream([{"ts": time, name: time}], key=None) for name, time in (("a", 3), ("b", 3), ("c", 4))}
        assert rows(fl.join(**streams, match=fl.interval("0 s", "1 s")), "a", "b", "c") == [(3, 3, 4)]

    def test_several_keys_and_one_column_for_all(self) -> None:
        streams = {name: stream([{"ts": 1, "k": 1, "l": "x", name: 0}], key=None) for name in ("a", "b", "c")}
        found = fl.join(**streams, match=fl.same_time(), on=("k", "l")).table().to_pylist()
        assert found == [{"ts": 1, "k": 1, "l": "x", "a": 0, "ts_b": 1, "b": 0, "ts_c": 1, "c": 0}]

    def test_columns_that_are_called_alike_get_the_name_of_their_input(self) -> None:
        """Each is compared with all before it: `at` is the first of its name, `at_s` the second."""
        streams = {name: stream([{"ts": 1, "id": 1, "at": name}]) for name in ("p", "s")}
        found = fl.join(o=stream([{"ts": 1, "id": 1}]), **streams, match=FIVE).table().to_pylist()
        assert found == [{"ts": 1, "id": 1, "ts_p": 1, "at": "p", "ts_s": 1, "at_s": "s"}]

    def test_a_stream_can_stand_beside_itself(self) -> None:
        steps = stream([{"ts": 1, "id": 1}, {"ts": 3, "id": 1}, {"ts": 4, "id": 1}])
        after = fl.interval("1 s", "2 s")
        assert rows(fl.join(a=steps, b=steps, c=steps, match=after), "ts", "ts_b", "ts_c") == [
            (1, 3, 3),
            (3, 4, 4),
        ]


class TestWhenTheyLeave:
    def test_a_combination_leaves_with_its_last_row_whichever_it_is(self) -> None:
        operator = by_hand()
        operator.add([{"ts": 12, "id": 1, "v": "s"}], source="s")
        operator.add([{"ts": 10, "id": 1, "v": "o"}], source="o")
        assert rows(operator) == []
        operator.add([{"ts": 11, "id": 1, "v": "p1"}, {"ts": 11, "id": 1, "v": "p2"}], source="p")
        assert rows(operator, "v", "v_p", "v_s") == [("o", "p1", "s"), ("o", "p2", "s")]
        operator.add([{"ts": 13, "id": 1, "v": "t"}], source="s")
        assert rows(operator, "v", "v_p", "v_s") == [("o", "p1", "t"), ("o", "p2", "t")]

    def test_nulls_leave_when_the_last_word_on_what_is_missing_is_said(self) -> None:
        operator = by_hand(how="left")
        operator.add([{"ts": 10, "id": 1}], source="o")
        operator.add([{"ts": 11, "id": 1, "v": "p"}], source="p")
        operator.advance(watermark=15 * S, source="s")
        assert rows(operator, "ts_p") == []  # a shipment of 15 can still come
        operator.advance(watermark=16 * S, source="s")
        assert rows(operator, "ts_p", "ts_s") == [(11, None)]
        operator.add([{"ts": 12, "id": 1, "v": "p"}], source="p")
        assert rows(operator, "ts_p", "ts_s") == [(12, None)]

    def test_on_close_an_order_waits_for_all_inputs(self) -> None:
        operator = by_hand("on_close")
        operator.add([{"ts": 11, "id": 1}, {"ts": 10, "id": 1}], source="o")
        for name in ("p", "s"):
            operator.add([{"ts": 12, "id": 1}], source=name)
            operator.advance(watermark=30 * S, source=name)
        assert rows(operator) == []
        operator.advance(watermark=11 * S, source="o")
        assert rows(operator, "ts") == [(10,)]
        operator.end()
        assert rows(operator, "ts") == [(11,)]

    def test_a_record_is_late_by_the_watermark_of_its_own_input(self) -> None:
        operator = by_hand()
        operator.advance(watermark=100 * S, source="s")
        operator.add([{"ts": 10, "id": 1}], source="o")
        operator.add([{"ts": 99, "id": 1}], source="s")
        (letter,) = operator.take_dead_letters().to_pylist()
        assert (letter["reason"], letter["record"]["s"]) == ("expired", {"ts": 99, "id": 1})
        assert {name: books.accepted for name, books in operator.accounting_by_input.items()} == {
            "p": 0,
            "s": 0,
            "o": 1,
        }

    def test_lateness_lets_records_come_later_and_rows_wait_for_them(self) -> None:
        operator = by_hand("on_close", how="left", lateness="3 s")
        operator.add([{"ts": 10, "id": 1}], source="o")
        for name in ("o", "p", "s"):
            operator.advance(watermark=18 * S, source=name)
        operator.add([{"ts": 15, "id": 1}], source="p")
        assert rows(operator) == []
        for name in ("o", "p", "s"):
            operator.advance(watermark=19 * S, source=name)
        assert rows(operator, "ts_p", "ts_s") == [(15, None)]

    def test_an_idle_input_holds_the_others_back_no_longer(self) -> None:
        operator = by_hand("on_close", how="left", idle="1 min")
        operator.add([{"ts": 10, "id": 1}], source="s", clock=0)
        for second, clock in ((11, 50), (90, 60)):
            for name in ("o", "p"):
                operator.add([{"ts": second, "id": 1}], source=name, clock=clock * S)
                operator.advance(watermark=second * S, source=name, clock=clock * S)
        assert rows(operator, "ts", "ts_p", "ts_s") == [(11, 11, None)]

    def test_an_input_that_brings_nothing_has_no_columns(self) -> None:
        assert joined(s=[], how="left").table().column_names == ["ts", "id", "price", "at", "cents"]
        assert rows(joined(o=[], how="left")) == rows(joined(s=[])) == []


class TestWhatIsKept:
    def test_rows_of_the_inputs_and_nothing_between_them(self) -> None:
        """A thousand pairs of an order and its payments wait for a shipment, and none of them is stored."""
        store = MemoryStore()
        streams = {name: stream([], delay="0 s") for name in ("o", "p", "s")}
        operator = fl.StandaloneJoin(
            fl.join(**streams, match=HOUR).spec,
            store=store,
            intakes=fl.join(**streams, match=HOUR).embedded_run().intakes,
        )
        operator.add([{"ts": 10, "id": 1}] * 10, source="o")
        operator.add([{"ts": 10, "id": 1}] * 100, source="p")
        held = {
            space: sum(len(store.get(one)) for one in store.list(space)) for space in ("input0", "input1", "input2")
        }
        assert held == {"input0": 10, "input1": 100, "input2": 0}
        operator.add([{"ts": 10, "id": 1}], source="s")
        assert len(operator.take()) == 1000

    @pytest.mark.parametrize("mode", ["eager", "on_close"])
    @pytest.mark.parametrize("how", ["inner", "left"])
    def test_explain_says_how_many_rows_are_kept(self, how: Any, mode: str) -> None:
        """One row a second of each input: as many are kept as explain says, and the newest one."""
        delays = {"o": "5 s", "p": "9 s", "s": "2 s"}
        streams = {name: stream([], delay=delay) for name, delay in delays.items()}
        match = {"p": fl.interval("-3 s", "7 s"), "s": fl.interval("1 s", "12 s")}
        result = getattr(fl.join(**streams, match=match, how=how, lateness="2 s"), mode)()
        operator = result.operator()
        for second in range(90):
            for name in ("p", "s", "o"):
                operator.add([{"ts": second, "id": second}], source=name)
        (told,) = [line for line in result.explain().splitlines() if line.startswith("keeps")]
        kept = {name: len(found) for name, found in operator.kept().items()}
        assert kept == {name: 1 + int(re.findall(rf"rows of {name}: rate × (\d+) s", told)[0]) for name in delays}
        operator.end()
        assert [len(found) for found in operator.kept().values()] == [0, 0, 0]

    def test_a_snapshot_goes_on(self) -> None:
        operator = by_hand()
        operator.add([{"ts": 10, "id": 1}], source="o")
        operator.add([{"ts": 11, "id": 1}], source="p")
        again = fl.StandaloneJoin.restore(
            operator.spec,
            operator.snapshot(),
            intakes=fl.join(**{name: stream([]) for name in ("o", "p", "s")}, match=FIVE).embedded_run().intakes,
        )
        again.add([{"ts": 12, "id": 1}], source="s")
        assert rows(again, "ts", "ts_p", "ts_s") == [(10, 11, 12)]

    def test_without_an_end_rows_are_kept_as_long_as_is_said(self) -> None:
        for_ever = {"p": fl.interval("0 s", "forever"), "s": HOUR}
        with pytest.raises(SpecError, match=r"`upper` \(forever\) is no bound"):
            joined(match=for_ever)
        assert rows(joined(match=for_ever, retention=fl.retention("6 s")), "at") == [(15,)]
        assert "what is kept grows with the stream" in joined(match=for_ever, retention=fl.retention()).explain()


class TestAmongStages:
    def test_windows_over_joined_rows(self) -> None:
        minutes = joined().window(fl.tumbling("1 min")).agg(n=fl.count(), cents=fl.sum("cents"))
        assert rows(minutes, "n", "cents") == [(2, 3000)]

    def test_results_and_joins_are_inputs(self) -> None:
        paid = stream(PAID, "at", "order").window(fl.tumbling("1 min")).agg(cents=fl.sum("cents")).key_by("order")
        sent = stream(SENT, "sent").select("sent", "id").key_by("id")
        found = fl.join(o=stream(ORDERS), p=paid, s=sent, match=fl.interval("0 s", "1 min"), how="left")
        assert rows(found, "id", "cents", "sent") == [(1, 3000, 60), (2, None, 61), (3, 700, None)]
        whole = stream(ORDERS, name="o").join(found.key_by("id"), fl.same_time(), how="semi")
        assert rows(whole, "id") == [(1,), (2,), (3,)]

    def test_a_composite_takes_three_streams_and_gives_one(self) -> None:
        streams = {name: stream([], delay="1 s") for name in ("o", "p", "s")}
        whole = fl.CompositeOperator()
        whole.add_operator(fl.join(**streams, match=FIVE).operator(), inputs=("o", "p", "s"), output="all")
        for second, name in ((10, "o"), (11, "p"), (12, "s")):
            whole.add([{"ts": second, "id": 1}], source=name)
        assert whole.take("all").to_pylist() == [{"ts": 10, "id": 1, "ts_p": 11, "ts_s": 12}]

    def test_a_table_takes_them(self, tmp_path: Path) -> None:
        joined(how="left").write_to(f"sqlite:///{tmp_path / 't.db'}", table="t")
        with closing(sqlite3.connect(tmp_path / "t.db")) as connection:
            found = connection.execute("SELECT id, cents, parcel FROM t ORDER BY id, cents").fetchall()
        assert found == [(1, 1000, "x"), (1, 2000, "x"), (2, None, "y"), (3, 700, None)]


def test_explain_tells_the_inputs() -> None:
    near = {"p": fl.interval("0 s", "5 min"), "s": fl.interval("0 s", "2 d", "left")}
    said = joined(how="left", match=near, where={"s": fl.col("s.sent") > 0}).explain()
    told = dict(line.split(maxsplit=1) for line in said.splitlines())
    assert told["keys"] == "`id` of o = `order` of p = `id` of s"
    assert told["time"].startswith("`ts` of o in s and `at` of p in s and `sent` of s in s, event time")
    assert told["joins"] == "o with p and s, left"
    assert told["matches"] == "p time from o time in [0 s, 5 min]; s time from o time in [0 s, 2 d)"
    assert told["condition"] == "s: where (s.sent > 0)"
    assert told["fires"] == "when a row of o is complete, in the order of o"
    assert told["keeps"].endswith("by delays of o 1 s, p 1 s, s 1 s; nothing between the inputs")
    assert "nulls as soon as no match can come" in joined(how="left").eager().explain()


class TestRefused:
    @pytest.mark.parametrize(
        ("declare", "told"),
        [
            (lambda o, _p, _s: fl.join(o=o, match=HOUR), "needs at least two streams"),
            (lambda o, p, _s: fl.join(o=o, p=[], match=HOUR), r"p=list is no stream"),
            (lambda o, p, _s: fl.join(o=o, p=p, match="1 h"), r"`match` of 'p' is '1 h'"),
            (lambda o, p, s: fl.join(o=o, p=p, s=s, match={"p": HOUR}), r"`match` of 's' is None"),
            (lambda o, p, s: fl.join(o=o, p=p, s=s, match={"o": HOUR, "p": HOUR, "s": HOUR}), "'o', which leads"),
            (
                lambda o, p, s: fl.join(o=o, p=p, s=s, match=HOUR, where={"t": fl.col("x") > 0}),
                "'t', which is no stream",
            ),
            (
                lambda o, p, s: fl.join(o=o, p=p, s=s, match=HOUR, how="left", where=fl.col("x")),
                r"where=\{'p': …\}",
            ),
            (lambda o, p, s: fl.join(o=o, p=p, s=s, match=HOUR, where=fl.col("price")).table(), "is of type int64"),
            (lambda o, p, s: fl.join(o=o, p=p, s=s, match=HOUR, where=fl.col("x") > 0).table(), "x"),
            (lambda o, p, s: fl.join(o=o, p=p, s=s, match=fl.as_of("1 s")), r"`match` of 'p' is AsOf"),
            (lambda o, p, s: fl.join(o=o, p=p, s=s, match=HOUR, how="full"), "how='inner' or 'left', not 'full'"),
            (lambda o, p, s: fl.join(o=o, p=p, s=s, match=HOUR).retracting(), "not kept up to date.*join two by two"),
            (lambda o, p, _s: fl.join(o=o, p=p.key_by("order", "at"), match=HOUR), "'o' has 1 keys and 'p' has 2"),
            (lambda o, p, _s: fl.join(o=o, time=p, match=HOUR), "a side is called 'time'"),
            (lambda o, p, _s: fl.join(o=o, p=p, match=HOUR, retention=fl.retention("1 h")), "has both. Leave it out"),
            (lambda o, p, _s: fl.join(o=o, p=p, match=HOUR, lateness="forever"), "`lateness`.*from 0 up"),
            (
                lambda o, p, _s: fl.join(
                    o=o, p=fl.union(a=stream([], key=None), b=stream([], key=None)).key_by("id"), match=HOUR
                ),
                "several inputs",
            ),
            (lambda o, p, _s: fl.join(o=o, p=fl.table([], key="id"), match=HOUR), r"table without a time.*\.join\(p\)"),
            (lambda o, p, s: fl.why(fl.join(o=o, p=p, s=s, match=HOUR), left={}, right={}), r"why\(o.join\(p, …\)"),
            (
                lambda o, p, s: fl.why(fl.join(o=o, p=p, s=s, match=HOUR).operator(), left={}, right={}),
                "rows of 3 inputs",
            ),
        ],
    )
    def test_when_it_is_declared(self, declare: Any, told: str) -> None:
        o, p, s = stream(ORDERS), stream(PAID, "at", "order"), stream(SENT, "sent")
        with pytest.raises(FanlightError, match=told):
            declare(o, p, s)

    def test_changes(self) -> None:
        changing = fl.stream([], time="ts", unit="s", op="op", delay="1 s").key_by("id")
        with pytest.raises(SpecError, match=r"'p' has changes \(`op`\).*Sort it first.*retracting\(\)"):
            fl.join(o=stream(ORDERS), p=changing, match=HOUR)

    def test_times_that_may_be_ahead_otherwise(self) -> None:
        with pytest.raises(SpecError, match=r"`ahead` is 1 d in 'o' and None in 'p'\. Give all the same"):
            fl.join(o=stream(ORDERS), p=stream(PAID, "at", "order", ahead=None), match=HOUR)

    @pytest.mark.parametrize(
        ("paid", "told"),
        [
            ([{"at": 15, "order": "1"}], "the key 'id' of the left side is int64 and 'order' of the right side string"),
            (
                [{"at": 15, "order": 1, "price": 1, "price_p": 2}],
                "two columns of a joined row would be called 'price_p'",
            ),
            ([{"at": 15, "order": 1, "sent_s": 1, "sent": 2}], "two columns of a joined row would be called 'sent_s'"),
        ],
    )
    def test_when_the_columns_are_known(self, paid: Any, told: str) -> None:
        with pytest.raises(InputError, match=told):
            joined(p=paid).table()
