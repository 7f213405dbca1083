"""Windows that each key has for itself: what users see of them, what is kept, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import fanlight as fl

MICROS = fl.Duration
ACCUMULATING = fl.Accumulation.ACCUMULATING


def operator(window: Any, **said: Any) -> fl.WindowOperator:
    said = {"aggregates": (("v", fl.sum("v")),), "keys": ("k",)} | said
    return fl.WindowOperator(fl.WindowSpec(time="ts", window=window, **said))


def shown(operator: fl.WindowOperator) -> list[tuple[Any, ...]]:
    return [_row(row) for row in operator.take().to_pylist()]


def _row(row: dict[str, Any]) -> tuple[Any, ...]:
    start, end = (_number(row["window"][side]) for side in ("start", "end"))
    return row["k"], start, end, row["v"], *([row["pane"]["op"]] if "op" in row["pane"] else [row["pane"]["status"]])


def _number(moment: Any) -> int:
    return moment if isinstance(moment, int) else round(moment.timestamp() * 1e6)


def feed(operator: fl.WindowOperator, *records: tuple[str, int, int]) -> None:
    for key, time, value in records:
        operator.add([{"k": key, "ts": time, "v": value}])


def test_a_record_that_bridges_sessions_takes_both_back() -> None:
    sessions = operator(
        fl.Session(MICROS(10)),
        trigger=fl.repeat(fl.after(1)),
        accumulation=fl.Accumulation.RETRACTING,
        lateness=MICROS.FOREVER,
    )
    feed(sessions, ("a", 0, 1), ("a", 15, 2), ("a", 8, 4))
    assert shown(sessions)[2:] == [("a", 0, 10, 1, "-D"), ("a", 15, 25, 2, "-D"), ("a", 0, 25, 7, "+I")]


def test_sessions_that_meet_are_one_only_if_they_may_touch() -> None:
    for touching, expected in (
        (False, [("a", 0, 10, 1, "+I"), ("a", 10, 20, 2, "+I")]),
        (True, [("a", 0, 20, 3, "+I")]),
    ):
        sessions = operator(fl.Session(MICROS(10), touching=touching))
        feed(sessions, ("a", 0, 1), ("a", 10, 2))
        sessions.end()
        assert shown(sessions) == expected


def test_a_gap_of_its_own_and_none_at_all() -> None:
    sessions = operator(fl.session(gap_from="gap"))
    rows = [("a", 0, 1, 100), ("a", 50, 2, 5), ("a", 200, 4, 0), ("a", 201, 8, None)]
    sessions.add([{"k": k, "ts": ts, "v": v, "gap": gap} for k, ts, v, gap in rows])
    sessions.end()
    assert shown(sessions) == [("a", 0, 100, 3, "+I")]
    assert sessions.take_dead_letters().column("reason").to_pylist() == ["no_window"] * 2


def test_a_tuple_session_ends_after_so_many_other_records() -> None:
    sessions = operator(fl.tuple_session(2))
    feed(sessions, ("a", 0, 1), ("b", 0, 2), ("a", 0, 4), ("b", 0, 8), ("b", 0, 16))
    assert shown(sessions) == [("a", 1, 6, 5, "+I")]


def test_positions_from_a_column_close_what_they_pass() -> None:
    """Position 7 of the key passes the window [3, 5), which holds what came; 4 comes too late for it then."""
    counted = operator(fl.counting(2, by="offset"))
    for offset, value in ((1, 1), (2, 2), (3, 4), (7, 8), (4, 16)):
        counted.add([{"k": "a", "ts": 0, "v": value, "offset": offset}])
    assert shown(counted) == [("a", 1, 3, 3, "+I"), ("a", 3, 5, 4, "+I")]
    assert counted.take_dead_letters().column("reason").to_pylist() == ["expired"]


def test_a_function_may_name_several_windows_or_none() -> None:
    def assign(times: Any, batch: pa.RecordBatch) -> tuple[Any, ...]:
        values = batch.column("v").to_numpy()
        rows = np.repeat(np.arange(len(times)), values)
        return rows, np.zeros(len(rows), np.int64), 10 * (1 + np.concatenate([np.arange(n) for n in values]))

    named = operator(fl.custom(assign))
    feed(named, ("a", 3, 2), ("a", 4, 1), ("a", 5, 0))
    named.end()
    assert shown(named) == [("a", 0, 10, 3, "+I"), ("a", 0, 20, 2, "+I")]
    assert named.take_dead_letters().column("reason").to_pylist() == ["no_window"]


@pytest.mark.parametrize("trigger", [fl.at_watermark(), fl.repeat(fl.after(1))], ids=["once", "each record"])
def test_a_record_stays_as_long_as_a_window_that_only_starts_after_it(trigger: fl.Trigger) -> None:
    """The watermark has passed every window that holds x, but not the one that starts after it and may hold y.

    It stands where a second of records could be forgotten, had x no window left: x is the last instant of it.
    """
    x, y, watermark = 999_999, 1_000_005, 1_000_010
    both = operator(fl.sliding("10 us", "both"), trigger=trigger, watermark=fl.Explicit(), accumulation=ACCUMULATING)
    feed(both, ("a", x, 1))
    both.advance(watermark=watermark)
    shown(both)
    feed(both, ("a", y, 2))
    both.end()
    assert shown(both) == [("a", x + 1, x + 12, 2, "+I")]


def test_so_many_expired_windows_of_each_key_stay_readable() -> None:
    counted = operator(fl.counting(2), retention=fl.retention(count=1))
    feed(counted, *(("ab"[i % 3 == 2], 0, i) for i in range(8)))
    kept = [_row(row) for row in counted.windows().to_pylist()]
    assert kept == [("b", 1, 3, 7, "expired"), ("a", 5, 7, 13, "expired")]


def test_expired_sessions_stay_readable_for_a_time() -> None:
    sessions = operator(fl.Session(MICROS(5)), retention=fl.retention(MICROS(10)), watermark=fl.stream_time())
    feed(sessions, ("a", 0, 1), ("b", 12, 2))
    assert [_row(row) for row in sessions.windows().to_pylist()] == [
        ("a", 0, 5, 1, "expired"),
        ("b", 12, 17, 2, "open"),
    ]
    feed(sessions, ("b", 15, 4))
    assert [_row(row) for row in sessions.windows().to_pylist()] == [("b", 12, 20, 6, "open")]


@pytest.mark.parametrize(
    ("window", "said", "message"),
    [
        (fl.sliding("1 s"), {"trigger": fl.repeat(fl.after(1))}, "`discarding` means nothing for Sliding"),
        (fl.session("1 s", max_count=2), {"trigger": fl.repeat(fl.after(1))}, "`discarding` means nothing for Session"),
        (fl.counting(2), {"lateness": MICROS(5)}, "`lateness` .* means nothing for arrival-time windows"),
        (
            fl.custom(lambda times, batch: (times, times + 1)),
            {"retention": fl.retention(messages=True)},
            "`retention` with messages is not for Custom windows",
        ),
    ],
)
def test_what_a_kind_cannot_do_is_refused(window: Any, said: dict[str, Any], message: str) -> None:
    with pytest.raises(fl.SpecError, match=message):
        operator(window, accumulation=fl.Accumulation.DISCARDING, **said)


@pytest.mark.parametrize(
    ("window", "record", "error", "message"),
    [
        (fl.session(gap_from="g"), {"g": "long"}, fl.InputError, "`gap_from` 'g' is string"),
        (fl.session("1 s", ends_on="g"), {"g": 1}, fl.InputError, "`ends_on` 'g' is int64"),
        (fl.session(gap_from="g"), {}, fl.InputError, "Column 'g' is not in the input"),
        (fl.custom(lambda times, batch: (times, times)), {}, fl.EngineError, "ends .* before it starts"),
        (fl.custom(lambda times, batch: 1 / 0), {}, fl.EngineError, "raised ZeroDivisionError"),
        (fl.custom(lambda times, batch: (times[:0], times)), {}, fl.EngineError, r"columns of \[0, 1\] rows"),
        (fl.custom(lambda times, batch: (times + 9, times, times + 1)), {}, fl.EngineError, "a row outside 0 to 0"),
    ],
)
def test_bad_columns_and_bad_functions_are_named(
    window: Any, record: dict[str, Any], error: type[Exception], message: str
) -> None:
    refused = operator(window)
    with pytest.raises(error, match=message):
        refused.add([{"k": "a", "ts": 0, "v": 1, **record}])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fl.session(), "exactly one says how long"),
        (lambda: fl.session("1 s", gap_from="g"), "exactly one says how long"),
        (lambda: fl.session("0 s"), "`gap` .* must be a length above zero"),
        (lambda: fl.session("1 s", max_count=0), "`max_count` .* at least 1"),
        (lambda: fl.tuple_session(0), "`without` .* at least 1"),
        (lambda: fl.sliding("-1 s"), "`difference` .* from zero up"),
        (lambda: fl.counting(2, every=3), "`every` .* would be lost"),
        (lambda: fl.cumulating("1 h", step="7 min"), "must be a multiple of `step`"),
        (lambda: fl.calendar("day", zone="Mars/Base"), "is no time zone"),
        (lambda: fl.calendar("fortnight"), "fortnight"),
        (lambda: fl.sliding("1 s", anchor="sideways"), "sideways"),
    ],
)
def test_declarations_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(fl.SpecError, match=message):
        make()


@pytest.mark.parametrize(
    "kind", [fl.session("1 s"), fl.global_window(), fl.counting(2), fl.custom(lambda times, _: (times, times + 1))]
)
def test_an_earliest_start_is_refused_where_it_would_say_nothing(kind: Any) -> None:
    """A peer's preset answers for all kinds at once, so it is taken with every kind."""
    with pytest.raises(fl.SpecError, match=r"`earliest_start` \(5\) means nothing for .* it is for tumbling, hopping"):
        operator(kind, semantics=fl.Semantics(earliest_start=5))
    operator(kind, semantics=fl.Semantics.named("kafka"))
