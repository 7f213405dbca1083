"""The standalone operator of a join, fed by hand, and composites that have joins among their parts."""

from __future__ import annotations

import re
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import SpecError

S = 1_000_000
FIVE = fl.interval("0 s", "5 s")


def side(name: str, **options: Any) -> fl.Stream:
    return fl.stream([], **{"time": "ts", "unit": "s", "name": name, "delay": "1 s", **options}).key_by("id")


def joined(mode: str = "eager", how: Any = "left") -> fl.JoinResult:
    result: fl.JoinResult = getattr(side("o").join(side("p"), FIVE, how=how), mode)()
    return result


class TestStandalone:
    @pytest.mark.parametrize("mode", ["eager", "on_close", "retracting"])
    def test_records_come_by_side_and_what_is_kept_can_be_read(self, mode: str) -> None:
        operator = joined(mode).operator()
        operator.add([{"ts": 10, "id": 1, "v": 5}, {"ts": 11, "id": 2, "v": 6}], source="o")
        operator.add([{"ts": 12, "id": 1, "w": 7}], source="p")
        assert {name: rows.to_pylist() for name, rows in operator.kept().items()} == {
            "o": [{"ts": 10, "id": 1, "v": 5}, {"ts": 11, "id": 2, "v": 6}],
            "p": [{"ts": 12, "id": 1, "w": 7}],
        }
        assert operator.watermarks == {"o": 10 * S, "p": 11 * S}
        operator.end()
        assert [len(rows) for rows in operator.kept().values()] == [0, 0]

    def test_deleted_rows_are_not_among_them(self) -> None:
        left = fl.stream([], time="ts", unit="s", name="o", op="op").key_by("id")
        operator = fl.JoinResult.operator(left.join(side("p"), FIVE))
        change = {"ts": 10, "id": 1, "v": 5}
        operator.add([{**change, "op": "+I"}, {**change, "v": 6, "op": "+I"}, {**change, "op": "-D"}], source="o")
        assert operator.kept()["o"].column("v").to_pylist() == [6]

    def test_a_snapshot_goes_on(self) -> None:
        operator = joined("retracting").operator()
        operator.add([{"ts": 10, "id": 1, "v": 5}], source="o")
        again = fl.StandaloneOperator.restore(
            operator.spec, operator.snapshot(), intakes=joined().embedded_run().intakes
        )
        again.add([{"ts": 12, "id": 1, "w": 7}], source="p")
        assert [(row["op"], row.get("w")) for row in again.take().to_pylist()] == [
            ("+I", None),
            ("-D", None),
            ("+I", 7),
        ]


@pytest.mark.parametrize("rules", ["fanlight", "flink"])
@pytest.mark.parametrize("combine", ["least", "greatest"])
@pytest.mark.parametrize("mode", ["eager", "on_close", "retracting"])
@pytest.mark.parametrize("how", ["inner", "left", "full"])
def test_explain_says_how_many_rows_are_kept(how: Any, mode: str, combine: Any, rules: str) -> None:
    """One row a second of each side: as many are kept as explain says, and the newest one."""
    o, p = side("o", delay="5 s"), side("p", delay="9 s")
    result = getattr(o.join(p, fl.interval("-3 s", "7 s"), how=how, lateness="2 s", combine=combine), mode)()
    result = result.semantics(rules)
    operator = result.operator()
    for second in range(60):
        for name in ("p", "o"):
            operator.add([{"ts": second, "id": second}], source=name)
    (told,) = [line for line in result.explain().splitlines() if line.startswith("keeps")]
    kept = {name: len(rows) for name, rows in operator.kept().items()}
    assert kept == {name: 1 + int(re.findall(rf"rows of {name}: rate × (\d+) s", told)[0]) for name in ("o", "p")}


def paid_minutes() -> fl.CompositeOperator:
    """Orders and payments are joined, and the pairs counted by the minute."""
    pairs = side("o").join(side("p"), FIVE)
    whole = fl.CompositeOperator()
    whole.add_operator(pairs.operator(), inputs=("o", "p"), output="pairs", keep=True)
    whole.add_operator(pairs.window(fl.tumbling("1 min")).agg(n=fl.count()).operator(), inputs="pairs", output="counts")
    return whole


class TestComposites:
    def test_a_join_takes_two_streams_and_gives_one(self) -> None:
        whole = paid_minutes()
        whole.add([{"ts": 10, "id": 1, "v": 5}], source="o")
        whole.add([{"ts": 12, "id": 1, "w": 7}], source="p")
        assert whole.take("pairs").to_pylist() == [{"ts": 10, "id": 1, "v": 5, "ts_p": 12, "w": 7}]
        whole = fl.CompositeOperator.restore(paid_minutes, whole.snapshot())
        whole.add([{"ts": 14, "id": 1, "w": 8}], source="p")
        whole.end()
        assert whole.take("counts").column("n").to_pylist() == [2]
        assert all(books.adds_up for books in whole.accounting.values())

    def test_a_join_of_a_join_and_of_what_windows_give(self) -> None:
        """Counts of a minute are joined with the shops of that minute; a late order corrects its count and the join."""
        counts = side("sales").window(fl.tumbling("1 min"), lateness="1 min").retracting().agg(n=fl.count())
        named = side("shops")
        joins = (
            _renamed(counts, "counts").key_by("id").join(named, fl.interval("-1 min", "0 s"), how="semi").retracting()
        )
        whole = fl.CompositeOperator()
        whole.add_operator(counts.operator(), inputs="sales", output="counts")
        whole.add_operator(joins.operator(), inputs=("counts", "shops"), output="open")
        whole.add([{"ts": 5, "id": 1}], source="shops")
        whole.add([{"ts": 1, "id": 1}, {"ts": 70, "id": 1}], source="sales")
        assert [(row["op"], row["n"]) for row in whole.take("open").to_pylist()] == [("+I", 1)]
        whole.add([{"ts": 2, "id": 1}], source="sales")
        assert [(row["op"], row["n"]) for row in whole.take("open").to_pylist()] == [("-D", 1), ("+I", 2)]

    def test_a_side_that_goes_by_another_time_is_refused(self) -> None:
        counts = side("sales").window(fl.tumbling("1 min")).agg(n=fl.count())
        whole = fl.CompositeOperator()
        whole.add_operator(counts.operator(), inputs="sales", output="o")
        with pytest.raises(SpecError, match="it goes by the time 'ts', and the watermark that is handed on"):
            whole.add_operator(joined().operator(), inputs=("o", "p"), output="pairs")


def _renamed(result: Any, name: str) -> fl.Stream:
    """The result as a stream with the name that it has in the composite."""
    from dataclasses import replace

    return replace(result.as_stream(), name=name)
