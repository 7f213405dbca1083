"""Records of sessions made into runs of intervals, and runs into chunks and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.operators.window.accepting import Shard

import fanlight as fl
from fanlight.kernels.grouping.groups import Groups
from fanlight.operators.window.session.runs import SessionRuns, SessionRunsShape, chained

SHARD = Shard(fl.session("5 us"))
SHAPE = SessionRunsShape(SHARD.plan)


def runs(*rows: tuple[int, int, str | None]) -> SessionRuns:
    """Runs of one record each: start, end and key; the value is the start."""
    starts, ends = (np.array([row[side] for row in rows], np.int64) for side in (0, 1))
    alone = Groups(np.arange(len(rows)), len(rows))
    partials = SHARD.plan.aggregation.partial([None, pa.array(starts)], starts, alone, None)
    return SessionRuns(starts, ends, [pa.array([row[2] for row in rows], pa.string())], partials)


def said(rows: SessionRuns) -> list[tuple[int, int, str | None, int, int]]:
    """Start, end, key, count and sum of each run."""
    values = [column.to_pylist() for column in SHARD.plan.aggregation.finish(rows.partials)]
    return list(zip(rows.starts.tolist(), rows.ends.tolist(), rows.keys[0].to_pylist(), *values, strict=True))


@pytest.mark.parametrize(("touching", "chains"), [(False, [(1, 9), (9, 14), (4, 9)]), (True, [(1, 14), (4, 9)])])
def test_intervals_of_a_key_that_overlap_are_one_run(touching: bool, chains: list[tuple[int, int]]) -> None:
    """a at 1 and 4 overlap; a at 9 only meets their end, at 9; b at 4 is of another key."""
    keys, times = [pa.array(["a", "a", "b", "a"])], np.array([9, 1, 4, 4])
    found, clusters = chained(keys, times, times + 5, touching=touching)
    assert list(zip(clusters.starts.tolist(), clusters.ends.tolist(), strict=True)) == chains
    assert found.take(clusters.codes)[0].to_pylist() == ["a"] * (len(chains) - 1) + ["b"]


def test_what_is_written_is_read_as_it_was() -> None:
    rows = runs((1, 6, "a"), (3, 8, None))
    assert said(SHAPE.from_batches([SHAPE.to_batch(rows)])) == said(rows) == [(1, 6, "a", 1, 1), (3, 8, None, 1, 3)]


def test_chunks_are_read_one_after_the_other_and_none_are_no_runs() -> None:
    chunks = [SHAPE.to_batch(runs((3, 8, "b"))), SHAPE.to_batch(runs((1, 6, "a")))]
    assert said(SHAPE.from_batches(chunks)) == [(3, 8, "b", 1, 3), (1, 6, "a", 1, 1)]
    assert said(SHAPE.from_batches([])) == said(SHAPE.none()) == []
