"""Stories of pipelines with several stages, in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import fanlight as fl

CLICKS = [
    {"ts": second, "shop": shop, "page": page}
    for second, shop, page in [
        (1, "n", "a"),
        (3, "n", "b"),
        (6, "s", "a"),
        (11, "n", "a"),
        (4, "n", "a"),  # late for the window [0, 5), which closed when 11 came
        (12, "s", "b"),
        (24, "n", "b"),
    ]
]


def by_shop(clicks: Any = CLICKS, *, lateness: str = "0 s", delay: str = "0 s") -> Any:
    """The windows of five seconds of each shop, a bundle a click."""
    stream = fl.stream(clicks, time="ts", unit="s", rows=1, delay=delay).key_by("shop")
    return stream.window(fl.tumbling("5 s"), lateness=lateness)


def rows(result: Any) -> list[tuple[int, ...]]:
    """Where each window starts, in seconds, and the values."""
    names = [name for name in result.table().schema.names if name not in ("window", "pane")]
    return [
        (int(row["window"]["start"].timestamp()), *(row[name] for name in names)) for row in result.table().to_pylist()
    ]


def test_a_correction_goes_through_to_the_next_stage() -> None:
    """The late click makes a second firing of [0, 5), and one more of [0, 10): as late as the first stage allows."""
    counts = by_shop(lateness="20 s").discarding().agg(n=fl.count())
    totals = counts.window(fl.tumbling("10 s")).discarding().agg(n=fl.sum("n"))
    assert rows(totals) == [(0, 3), (0, 1), (10, 2), (20, 1)]
    assert totals.spec.lateness == fl.Duration.of("20 s")


def test_a_correction_beyond_the_lateness_of_the_next_stage_is_a_dead_letter_there() -> None:
    counts = by_shop(lateness="20 s").discarding().agg(n=fl.count())
    totals = counts.window(fl.tumbling("10 s"), lateness="0 s").agg(n=fl.sum("n"))
    assert rows(totals) == [(0, 3), (10, 2), (20, 1)]
    assert totals.own_dead_letters.column("reason").to_pylist() == ["expired"]
    assert [stage.accounting.dead_letters for stage in totals.stages] == [0, 1]
    assert all(stage.accounting.adds_up for stage in totals.stages)


def test_sort_after_corrections_makes_letters_that_name_stage_and_record() -> None:
    ordered = by_shop(lateness="20 s").discarding().agg(n=fl.count()).sort()
    assert ordered.table().column("n").to_pylist() == [2, 1, 1, 1, 1]
    (letter,) = ordered.dead_letters.to_pylist()
    assert (letter["reason"], letter["record"]) == ("expired", None)
    detail = json.loads(letter["detail"])
    assert detail["stage"] == 2
    assert detail["record"]["shop"] == "n"
    assert detail["record"]["window_end"] == "1970-01-01 00:00:05+00:00"


def test_letters_of_all_stages_stand_together() -> None:
    """Without lateness the late click is a letter of the first stage, with its record; nothing is late after it."""
    ordered = by_shop().agg(n=fl.count()).sort()
    (letter,) = ordered.dead_letters.to_pylist()
    assert (letter["reason"], letter["detail"], letter["record"]["ts"]) == ("expired", None, 4)
    heard: list[Any] = []
    again = by_shop().agg(n=fl.count()).sort().on_dead_letters(lambda letters: heard.extend(letters.to_pylist()))
    assert len(again.table()) == 4 + 1
    assert [one["record"]["ts"] for one in heard] == [4]


def test_one_stage_can_be_followed_by_two_pipelines_and_be_read_itself() -> None:
    counts = by_shop(delay="20 s").agg(n=fl.count())
    most = counts.window(fl.tumbling("10 s")).agg(most=fl.max("n"))
    shops = counts.key_by("shop").window(fl.tumbling("30 s")).agg(n=fl.sum("n"))
    assert rows(most) == [(0, 3), (10, 1), (20, 1)]
    assert rows(shops) == [(0, "n", 5), (0, "s", 2)]
    assert sum(n for _, _, n in rows(counts)) == len(CLICKS)


def test_the_accounts_of_stages_can_be_asked_for_before_the_rows() -> None:
    totals = by_shop(delay="20 s").agg(n=fl.count()).window(fl.tumbling("10 s")).agg(n=fl.sum("n"))
    assert [stage.accounting.received for stage in totals.stages] == [7, 5]
    assert len(totals.stages[0].own_dead_letters) == 0
    assert rows(totals) == [(0, 4), (10, 2), (20, 1)]


def test_a_source_that_is_read_once_serves_one_pipeline() -> None:
    def clicks() -> Iterator[dict[str, Any]]:
        yield from CLICKS

    counts = by_shop(clicks(), delay="20 s").agg(n=fl.count())
    totals = counts.window(fl.tumbling("10 s")).agg(n=fl.sum("n"))
    other = counts.sort()
    assert rows(totals) == [(0, 4), (10, 2), (20, 1)]
    assert totals.stages[0].accounting.received == 7
    with pytest.raises(fl.InputError, match="can be read once, and has been"):
        other.table()


def test_a_stream_over_it_serves_one_pipeline_too() -> None:
    stream = fl.stream(iter(CLICKS), time="ts", unit="s", delay="20 s")
    assert len(stream.sort().table()) == 7
    with pytest.raises(fl.InputError, match="can be read once, and has been"):
        stream.window(fl.tumbling("10 s")).agg(n=fl.count()).table()


def test_rows_of_the_last_stage_leave_while_the_source_is_read() -> None:
    """A source without end: the first rows of the second stage are there when the watermark has passed its window."""

    def forever() -> Iterator[dict[str, Any]]:
        second = 0
        while True:
            yield {"ts": second, "shop": "n", "page": "a"}
            second += 1

    totals = by_shop(forever()).agg(n=fl.count()).window(fl.tumbling("10 s")).agg(n=fl.sum("n"))
    firings = (n for batch in totals for n in batch.column("n").to_pylist())
    assert [next(firings) for _ in range(3)] == [10, 10, 10]


def test_a_pipeline_that_nothing_reaches_is_empty() -> None:
    nothing = by_shop([]).agg(n=fl.count()).window(fl.tumbling("10 s")).agg(n=fl.sum("n"))
    assert len(nothing.table()) == len(nothing.dead_letters) == 0
    unusable = by_shop([{"ts": None, "shop": "n"}]).agg(n=fl.count()).sort()
    assert len(unusable.table()) == 0
    assert unusable.dead_letters.column("reason").to_pylist() == ["null_time"]


def test_nothing_is_lost_at_the_end_though_windows_never_expire() -> None:
    """Every stage is final when the input ends; what the second then says comes to the third before its own end."""
    forever = fl.Duration.FOREVER
    first = by_shop(lateness="forever").trigger(fl.at_expiry()).agg(n=fl.count())
    second = first.window(fl.tumbling("10 s"), lateness=forever).trigger(fl.at_expiry()).agg(n=fl.sum("n"))
    third = second.window(fl.tumbling("60 s")).agg(n=fl.sum("n"))
    assert rows(third) == [(0, 7)]
    assert len(third.dead_letters) == 0


def test_stages_by_the_clock_and_by_positions_follow_one_that_corrects() -> None:
    """Nothing is late for them: they need no lateness, and none is handed to them."""
    counts = by_shop(lateness="20 s").discarding().agg(n=fl.count())
    pairs = counts.window(fl.counting(2, per="stream")).agg(n=fl.sum("n"))
    assert pairs.table().column("n").to_pylist() == [3, 2, 2]
    clock = fl.stream(CLICKS, time="ts", unit="s", rows=1, delay="0 s", clock="ts").window(
        fl.tumbling("5 s"), lateness="9 s"
    )
    by_clock = clock.discarding().agg(n=fl.count()).window(fl.tumbling("1 min", domain="processing"))
    assert rows(by_clock.agg(n=fl.sum("n"))) == [(0, 7)]


def test_explain_tells_every_stage_and_the_watermark_between_them() -> None:
    counts = by_shop(lateness="20 s").trigger(fl.at_expiry()).agg(n=fl.count())
    told = counts.window(fl.tumbling("10 s")).agg(n=fl.sum("n")).sort().explain()
    first, second, third = told.split("\n\n")
    assert "watermark  0 s behind the greatest time seen" in first
    assert "reads      the results of the stage before" in second
    assert "watermark  that of the stage before, less 20 s" in second
    assert third.splitlines()[-1] == "keeps      the rows that the watermark has not passed"
    assert "watermark  that of the stage before\n" in third


@pytest.mark.parametrize(
    ("kind", "told"),
    [(fl.counting(3), "positions and no times"), (fl.global_window(), "never ends")],
    ids=["positions", "global"],
)
def test_results_without_a_time_are_not_followed(kind: Any, told: str) -> None:
    counts = fl.stream(CLICKS, time="ts", unit="s").window(kind).agg(n=fl.count())
    with pytest.raises(fl.SpecError, match=told):
        counts.window(fl.tumbling("10 s"))
    with pytest.raises(fl.SpecError, match=told):
        counts.sort()


def test_nothing_is_lost_at_the_end_of_a_composite_either() -> None:
    forever: dict[str, Any] = {"lateness": "forever"}
    first = by_shop(**forever).trigger(fl.at_expiry()).agg(n=fl.count())
    second = first.window(fl.tumbling("10 s"), **forever).trigger(fl.at_expiry()).agg(n=fl.sum("n"))
    third = second.window(fl.tumbling("60 s")).agg(n=fl.sum("n"))
    shop = fl.CompositeOperator()
    for stage, reads, gives in ((first, "clicks", "counts"), (second, "counts", "totals"), (third, "totals", "all")):
        shop.add_operator(stage.operator(), inputs=reads, output=gives)
    shop.add(CLICKS)
    shop.end()
    assert shop.take("all").column("n").to_pylist() == [7]
