"""Iterating without end: what is held stays bounded, and nothing is lost for who asks to hear of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.embedded.kept_letters import NEWEST, KeptLetters

STEP = 2_000
LET_GO = "More than 10,000 dead letters.*on_dead_letters"


def endless() -> Iterator[pa.RecordBatch]:
    """Step after step: a record in a window of its own, and 1,999 without a time, numbered."""
    for step in count():
        times = pa.array([step] + [None] * (STEP - 1), pa.timestamp("s"))
        yield pa.record_batch({"ts": times, "n": range(step * STEP, (step + 1) * STEP)})


def counted(source: Any = None, **options: Any) -> fl.Result:
    stream = fl.stream(endless() if source is None else source, time="ts", delay="0 s", **options)
    return stream.window(fl.tumbling("1 s")).agg(n=fl.count())


def numbers(letters: pa.Table) -> list[int]:
    return [record["n"] for record in letters["record"].to_pylist()]


@pytest.mark.parametrize("stages", [1, 2])
def test_an_endless_run_holds_the_newest_letters_and_counts_them_all(stages: int) -> None:
    """Of 120,000 letters, which took 12 MB, at most 20,000 are held; the newest 10,000 and more are there."""
    result = counted() if stages == 1 else counted().rewindow().agg(n=fl.sum("n"))
    before = pa.total_allocated_bytes()
    with pytest.warns(fl.FanlightWarning, match=LET_GO) as said_so:
        fired = list(islice(result, 60))
    assert len(said_so) == 1
    assert pa.total_allocated_bytes() - before < 4_000_000
    assert [len(rows) for rows in fired] == [1] * 60
    letters = result.dead_letters
    assert NEWEST <= letters.num_rows < 2 * NEWEST
    last = [n for n in range(61 * STEP) if n % STEP]
    assert numbers(letters) == last[-letters.num_rows :]
    if stages == 1:
        assert (result.accounting.received, result.accounting.dead_letters) == (61 * STEP, 61 * (STEP - 1))


def test_a_function_hears_all_of_them_and_none_is_held() -> None:
    heard: list[int] = []
    result = counted()
    assert len(list(islice(result.on_dead_letters(lambda letters: heard.extend(numbers(letters))), 12))) == 12
    assert heard == [n for n in range(13 * STEP) if n % STEP]
    assert result.accounting.dead_letters == len(heard)
    with pytest.raises(fl.SpecError, match="handed to the function of on_dead_letters"):
        _ = result.dead_letters


def test_a_function_hears_the_letters_of_the_first_stage() -> None:
    heard: list[int] = []
    result = counted(list(islice(endless(), 3))).rewindow().agg(n=fl.sum("n"))
    result.on_dead_letters(lambda letters: heard.append(len(letters))).table()
    assert heard == [STEP - 1] * 3


def test_a_table_keeps_them_all() -> None:
    result = counted(list(islice(endless(), 15)))
    assert result.table().num_rows == 15
    assert result.dead_letters.num_rows == 15 * (STEP - 1)


def test_one_step_with_more_than_are_kept_holds_no_more_either() -> None:
    """A bundle of 50,000 without a time: the newest 10,000 are copied, so that the others can go."""
    source = iter([pa.record_batch({"ts": pa.nulls(50_000, pa.timestamp("s")), "n": range(50_000)})])
    result = counted(source)
    with pytest.warns(fl.FanlightWarning, match=LET_GO):
        assert list(result) == []
    assert numbers(result.dead_letters) == list(range(40_000, 50_000))
    assert result.dead_letters.nbytes < 1_000_000


def test_letters_one_by_one_become_one_piece_now_and_then() -> None:
    """A table costs some kilobytes, however little is in it."""
    kept = KeptLetters()
    for n in range(3_000):
        kept.add(pa.table({"record": [{"n": n}]}), bounded=True)
        assert kept.pieces <= 1_000
    assert numbers(kept.table()) == list(range(3_000))


def test_letters_from_before_a_column_had_a_type_go_with_those_after() -> None:
    """Nobody reads `note`, which is null at first and text later."""
    records = [{"ts": None, "note": None}, {"ts": None, "note": "x"}]
    notes = [record["note"] for record in counted(records, rows=1).dead_letters["record"].to_pylist()]
    assert notes == [None, "x"]


def test_the_function_must_be_there_before_the_run_begins() -> None:
    result = counted(list(islice(endless(), 2)))
    result.table()
    with pytest.raises(fl.InputError, match="has been read already"):
        result.on_dead_letters(print)
