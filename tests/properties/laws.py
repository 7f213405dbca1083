"""What the properties share: the kinds of window, the record shape as Arrow sees it, how transcripts are compared."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, settings

from fanlight.operators.window.firing.withheld import plain
from fanlight.testing.script import DeadLetter, Firing, Outcome, Transcript, ValueLetter, same
from fanlight.testing.strategies.kinds import KINDS

SCHEMA = pa.schema(
    {"ts": pa.int64(), "k": pa.string(), "v": pa.int64(), "f": pa.float64(), "b": pa.bool_()},
)
ROUNDING = 1e-9
"""Variances and means are computed in another order than the oracle's."""

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)

patient = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
"""A pipeline is a large thing to draw; that is no fault of a test."""
halved = settings(patient, max_examples=max(20, settings().max_examples // 2))
brief = settings(patient, max_examples=max(12, settings().max_examples // 4))
"""For laws that the comparison with the oracle would break, too."""


def assert_same(ours: Transcript, law: Transcript) -> None:
    """Step by step the same firings in the same order, the same dead letters, the same counts."""
    for step, (mine, right) in enumerate(zip(ours.outcomes, law.outcomes, strict=True)):
        assert same_firings(mine, right), f"step {step}\nengine: {mine.firings}\noracle: {right.firings}"
        assert letters(mine) == letters(right), f"step {step}: {mine.dead_letters} != {right.dead_letters}"
        withheld, by_law = mine.value_letters, right.value_letters
        assert same([*map(told, withheld)], [*map(told, by_law)], tolerance=ROUNDING), f"{step}: {withheld} != {by_law}"
        assert mine.counts == right.counts, f"step {step}"


def assert_same_end(ours: Transcript, law: Transcript) -> None:
    """The same panes are left standing, with the same values."""
    mine, right = ours.last_firings(), law.last_firings()
    assert mine.keys() == right.keys()
    for pane, firing in right.items():
        assert same(mine[pane].values, firing.values, tolerance=ROUNDING), pane


def same_firings(mine: Outcome, right: Outcome) -> bool:
    pairs = zip(mine.firings, right.firings, strict=False)
    return len(mine.firings) == len(right.firings) and all(same_firing(a, b) for a, b in pairs)


def same_firing(mine: Firing, right: Firing) -> bool:
    said = [(f.key, f.window, f.op, f.timing, f.number, f.revision, f.is_last, f.time) for f in (mine, right)]
    return said[0] == said[1] and same(mine.values, right.values, tolerance=ROUNDING)


def told(letter: ValueLetter) -> tuple[Any, ...]:
    """What a letter says, its values as its detail writes them."""
    return letter.key, letter.window, json.loads(json.dumps(plain(letter.values))), letter.out_of_range


def letters(outcome: Outcome) -> list[str]:
    """Dead letters in an order of their own: reasons are found one after the other, not record by record."""
    return sorted(letter(item) for item in outcome.dead_letters)


def letter(item: DeadLetter) -> str:
    reason, record = item
    return f"{reason} {sorted(record.items())}"
