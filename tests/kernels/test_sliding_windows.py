"""The windows that records define, beside KIP-450 read record by record."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.kernels.sliding_windows import Anchors

TICK = 2
times_of_keys = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12).map(lambda t: TICK * t)), max_size=12).map(
    sorted
)
kinds = st.builds(fl.Sliding, st.integers(0, 5).map(lambda d: fl.Duration(TICK * d)), st.sampled_from(fl.Anchor))


def windows(kind: fl.Sliding, rows: list[tuple[int, int]], earliest: int | None) -> dict[tuple[int, int], list[int]]:
    """Every window as (key, start) and the rows it holds."""
    found = {}
    for key, time in rows:
        starts = {
            fl.Anchor.TRAILING: [time - kind.difference.micros],
            fl.Anchor.FORWARD: [time],
            fl.Anchor.BOTH: [time - kind.difference.micros, time + TICK],
        }[kind.anchor]
        for start in starts:
            first = start if earliest is None else max(start, earliest)
            held = [i for i, (k, t) in enumerate(rows) if k == key and first <= t <= first + kind.difference.micros]
            if held:
                found[key, first] = held
    return found


@given(
    kind=kinds,
    rows=times_of_keys,
    earliest=st.none() | st.just(4),
    first=st.integers(-8, 20),
    length=st.integers(0, 40),
)
def test_windows_hold_what_lies_in_them(
    kind: fl.Sliding, rows: list[tuple[int, int]], earliest: int | None, first: int, length: int
) -> None:
    anchors = Anchors.of(kind, TICK, fl.Semantics(earliest_start=earliest))
    codes, times = np.array(rows, np.int64).reshape(-1, 2).T
    held = anchors.windows(codes, times, first, first + length)
    found = {
        (key, start): list(range(low, high))
        for key, start, low, high in zip(
            *(c.tolist() for c in (held.codes, held.starts, held.low, held.high)), strict=True
        )
    }
    size = kind.difference.micros + TICK
    expected = {
        (key, start): places
        for (key, start), places in windows(kind, rows, earliest).items()
        if first < start + size <= first + length
    }
    assert found == expected
    assert (held.ends == held.starts + size).all()
    assert list(found) == sorted(found)


@given(kind=kinds, rows=times_of_keys, key=st.integers(0, 2), at=st.integers(0, 12), after=st.integers(-5, 30))
def test_whether_a_window_holds_a_time(
    kind: fl.Sliding, rows: list[tuple[int, int]], key: int, at: int, after: int
) -> None:
    """Windows of records, also those that would be empty without the one that is asked about."""
    anchors, at = Anchors.of(kind, TICK, fl.Semantics()), TICK * at
    codes, times = np.array(rows, np.int64).reshape(-1, 2).T
    [held] = anchors.hold(codes, times, np.array([key]), np.array([at]), np.array([after])).tolist()
    size = kind.difference.micros + TICK
    among = windows(kind, sorted([*rows, (key, at)]), None)
    own = (
        {(key, at - kind.difference.micros), (key, at + TICK)} if kind.anchor is not fl.Anchor.FORWARD else {(key, at)}
    )
    others = windows(kind, rows, None).keys() | (among.keys() - own)
    assert held == any(k == key and start <= at < start + size and start + size > after for k, start in others)
