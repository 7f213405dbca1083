"""Dead letters and accounting of a database are kept for a time; accounting can be left out."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.sinks.orders import BASE, SCHEMA, asked, corrected, handed, shape_of

import fanlight as fl
from fanlight.model.time.duration import Duration
from fanlight.operators.accounting import DeadLetters
from fanlight.operators.bind import bind
from fanlight.sinks.batch import Part
from fanlight.sinks.result_schema import ResultShape
from fanlight.sinks.targets import sinks_of

SHAPE = shape_of(corrected)
HOUR = Duration.of("1 hour")


def minute(number: int) -> datetime:
    return BASE + timedelta(minutes=number)


def letter(watermark: datetime) -> pa.Table:
    row = {"reason": "expired", "watermark": watermark, "record": {"k": "late"}}
    return pa.Table.from_pylist([row], schema=SHAPE.dead_letters)


def written(file: Path, minutes: list[int | None], *, query: str = "q", keep: Duration | None = HOUR) -> None:
    """A batch for each minute that the watermark has come to, with a dead letter that was judged by it."""
    (sink,) = sinks_of(SHAPE, f"sqlite:///{file}", table="t", keep=keep)
    for number, come_to in enumerate(minutes):
        moment = None if come_to is None else minute(come_to)
        letters = None if moment is None else letter(moment)
        rows = SHAPE.rows.empty_table()
        sink.write(handed(SHAPE, number, rows, query=query, letters=letters, watermark=moment))


def left(file: Path, table: str, query: str = "q") -> list[int]:
    return [batch for (batch,) in asked(file, f"SELECT batch FROM {table} WHERE query = '{query}' ORDER BY batch")]


def test_what_is_an_hour_behind_the_watermark_goes(tmp_path: Path) -> None:
    """The watermark comes to 2:10. So 1:10 stays, which is an hour behind it, and 1:09 goes."""
    file = tmp_path / "t.db"
    written(file, [0, 30, 69, 70, 130])
    assert left(file, "t_dead_letters") == [3, 4]
    assert left(file, "t_accounting") == [3, 4]


def test_without_keep_all_stays(tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    written(file, [0, 30, 69, 70, 130], keep=None)
    assert left(file, "t_dead_letters") == left(file, "t_accounting") == [0, 1, 2, 3, 4]


def test_another_query_keeps_its_own(tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    written(file, [0, 1], query="slow")
    written(file, [600, 601])
    assert left(file, "t_dead_letters", "slow") == left(file, "t_accounting", "slow") == [0, 1]


def test_where_no_watermark_is_known_nothing_goes(tmp_path: Path) -> None:
    """At the beginning there is none yet, and the end of the input has none either."""
    file = tmp_path / "t.db"
    written(file, [None, 0, None, 30, None])
    assert left(file, "t_accounting") == [0, 1, 2, 3, 4]


def test_a_time_longer_than_the_calendar_keeps_all(tmp_path: Path) -> None:
    file = tmp_path / "t.db"
    written(file, [0, 600], keep=Duration.of("9000000 days"))
    assert left(file, "t_accounting") == [0, 1]


def by_position(_: Any) -> fl.Result:
    return fl.stream([], time="ts").key_by("k").window(fl.counting(2)).agg(n=fl.count())


def test_a_keep_that_nothing_goes_by_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fl.SpecError, match=r"`keep` \(1 h\) is how long .* and neither goes to one"):
        sinks_of(SHAPE, "totals/", keep=HOUR)
    with pytest.raises(fl.SpecError, match="and neither goes to one"):
        sinks_of(SHAPE, "sqlite:///t.db", table="t", dead_letters="late.jsonl", accounting=False, keep=HOUR)
    assert sinks_of(SHAPE, "totals/", dead_letters=f"sqlite:///{tmp_path}/late.db", keep=HOUR)


def test_windows_over_positions_have_no_time_to_keep_by() -> None:
    spec = by_position([]).spec
    bound = bind(spec, SCHEMA, lean=True)
    shape = ResultShape.of(spec, bound, DeadLetters(SCHEMA, of_times=bound.of_times).schema)
    with pytest.raises(fl.SpecError, match="goes by event time, and windows over positions have none"):
        sinks_of(shape, "sqlite:///t.db", table="t", keep=HOUR)


@pytest.mark.parametrize(
    ("target", "options"), [("sqlite:///t.db", {"table": "t"}), ("totals/", {}), ("totals.jsonl", {})]
)
def test_accounting_can_be_off(target: str, options: dict[str, str]) -> None:
    places = [part for sink in sinks_of(SHAPE, target, accounting=False, **options) for part in sink.places]
    assert places == [Part.ROWS, Part.DEAD_LETTERS]
