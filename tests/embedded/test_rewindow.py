"""A stage over the results of another: the same windows again, in the same step."""

from __future__ import annotations

from collections import Counter

import pytest

import fanlight as fl

SALES = [
    {"ts": second, "region": region, "shop": shop, "v": value}
    for second, region, shop, value in [
        (1, "n", "a", 5),
        (3, "n", "b", 2),
        (4, "s", "c", 7),
        (9, "n", "a", 1),
        (12, "n", "b", 4),
        (13, "s", "c", 3),
        (15, "s", "d", 3),
        (2, "n", "b", 9),
        (31, "n", "a", 6),
    ]
]


def counts(kind: object, *, rows: int = 3, **options: object) -> fl.Result:
    stream = fl.stream(SALES, time="ts", unit="s", delay="20 seconds", rows=rows).key_by("region", "shop")
    return stream.window(kind, **options).agg(n=fl.count(), total=fl.sum("v"))  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [1, 3, 100])
@pytest.mark.parametrize(
    "kind",
    [
        fl.tumbling("10 s"),
        fl.hopping("20 s", every="5 s"),
        fl.cumulating("20 s", step="5 s", offset="3 s"),
        fl.cumulating("10 s", step="10 s"),
        fl.calendar("day", "Pacific/Apia"),
        fl.counting(4, every=2, per="stream"),
    ],
    ids=str,
)
def test_a_second_stage_groups_inside_the_windows_of_the_first(kind: object, rows: int) -> None:
    expected = Counter[object]()
    for row in counts(kind, rows=rows).table().to_pylist():
        expected[(row["region"], row["window"]["start"], row["window"]["end"])] += row["total"]
    regions = counts(kind, rows=rows).rewindow().key_by("region").agg(total=fl.sum("total"), shops=fl.count())
    found = {(r["region"], r["window"]["start"], r["window"]["end"]): r["total"] for r in regions.table().to_pylist()}
    assert found == expected


def test_results_of_sessions_are_grouped_by_the_windows_they_carry() -> None:
    """Shops a and b have a session from 0 to 15, as their clicks are as far apart; that of c is its own."""
    clicks = [{"ts": ts, "shop": shop} for ts, shop in ((0, "a"), (0, "b"), (5, "a"), (5, "b"), (7, "c"), (60, "a"))]
    sessions = fl.stream(clicks, time="ts", unit="s", rows=1, delay="0 s").key_by("shop").window(fl.session("10 s"))
    again = sessions.agg(n=fl.count()).rewindow().agg(shops=fl.count(), n=fl.sum("n")).table().to_pylist()
    found = [(row["window"]["start"].second, row["window"]["end"].second, row["shops"], row["n"]) for row in again]
    assert found == [(0, 15, 2, 4), (7, 17, 1, 1), (0, 10, 1, 1)]


def test_sessions_that_are_taken_back_are_not_grouped_again() -> None:
    growing = fl.stream(SALES, time="ts", unit="s").key_by("shop").window(fl.session("10 s"), lateness="30 s")
    with pytest.raises(fl.SpecError, match=r"nobody knows when one is final.*window\(…\)"):
        growing.retracting().agg(n=fl.count()).rewindow()


def test_both_stages_of_a_window_leave_in_one_step() -> None:
    first = counts(fl.tumbling("10 s"), rows=1)
    steps = [len(batch) for batch in first]
    second = counts(fl.tumbling("10 s"), rows=1).rewindow().agg(n=fl.sum("n"))
    assert len([size for size in steps if size]) == len([batch for batch in second if len(batch)])


def test_the_top_of_each_window_names_whole_rows() -> None:
    best = counts(fl.tumbling("10 s")).rewindow().agg(best=fl.top("row", 2, by="total"))
    assert best.table().column("best").to_pylist()[0] == [
        {"region": "n", "shop": "b", "n": 2, "total": 11},
        {"region": "s", "shop": "c", "n": 1, "total": 7},
    ]


def test_late_corrections_within_lateness_count_once() -> None:
    late = counts(fl.tumbling("10 s"), rows=1, lateness="30 s")
    assert late.rewindow().agg(n=fl.sum("n")).table().column("n").to_pylist() == [5, 3, 1]
    stream = fl.stream(SALES, time="ts", unit="s", rows=1, delay="0 s").window(fl.tumbling("10 s"), lateness="30 s")
    increments = stream.discarding().agg(n=fl.count()).rewindow().agg(n=fl.sum("n"))
    assert increments.table().column("n").to_pylist() == [5, 3, 1]


def test_the_global_window_can_be_grouped_again() -> None:
    stream = fl.stream(SALES, time="ts", unit="s").key_by("shop").window(fl.global_window()).agg(n=fl.count())
    assert stream.rewindow().agg(most=fl.max("n")).table().column("most").to_pylist() == [3]


def test_dead_letters_of_the_first_stage_are_those_of_the_pipeline() -> None:
    stream = fl.stream(SALES, time="ts", unit="s", rows=1, delay="0 s").window(fl.tumbling("10 s")).agg(n=fl.count())
    totals = stream.rewindow().agg(n=fl.sum("n"))
    assert totals.dead_letters.column("reason").to_pylist() == ["expired"]
    assert totals.table().column("n").to_pylist() == [4, 3, 1]


def test_columns_that_mean_something_to_the_next_stage_are_refused() -> None:
    stream = fl.stream(SALES, time="ts", unit="s").window(fl.tumbling("10 s")).agg(row=fl.count())
    with pytest.raises(fl.SpecError, match=r"'row'.*Rename it"):
        stream.rewindow().agg(n=fl.sum("row"))
