"""What works on whole records where a field of them has only nulls at first: it gets its type with its first value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "price": pa.int64(), "note": pa.string()})
CAME = [
    *({"ts": ts, "k": "a", "price": price, "note": None} for ts, price in ((1, 5), (2, 9), (61, 1))),
    {"ts": 30, "k": "a", "price": 7, "note": "late"},  # its first value, in a letter where nothing waits for it
    *({"ts": 62, "k": key, "price": 2, "note": key} for key in ("a", "b")),
    *({"ts": ts, "k": "a", "price": 3, "note": note} for ts, note in ((64, None), (130, "last"))),
]


def of(windows: fl.Windowed) -> Any:
    notes = fl.batch(lambda table: table["note"].to_pylist(), pa.list_(pa.string()))
    return windows.agg(notes=notes, n=fl.count())


EARLY = fl.at_watermark(early=fl.after(1))
USES: dict[str, Callable[[fl.Windowed], Any]] = {
    "top": lambda windows: windows.top(2, by="price"),
    "early": lambda windows: windows.trigger(EARLY).top(2, by="price"),
    "over": lambda windows: windows.over(order="price").add(place=fl.rank(), before=fl.lag("note")),
    "batch": of,
}
KINDS = (
    fl.tumbling("1 min"),
    fl.hopping("1 min", every="20 s"),
    fl.session("5 s"),
    fl.sliding("10 s"),
    fl.counting(3),
)


def windows(kind: Any, schema: pa.Schema | None) -> fl.Windowed:
    return fl.stream(CAME, time="ts", unit="s", delay="0 s", rows=1, schema=schema).key_by("k").window(kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: type(kind).__name__)
@pytest.mark.parametrize("use", USES)
def test_what_leaves_is_what_leaves_with_a_schema(use: str, kind: Any) -> None:
    guessed, declared = (USES[use](windows(kind, schema)) for schema in (None, SCHEMA))
    assert guessed.table().to_pylist() == declared.table().to_pylist()
    assert guessed.dead_letters.to_pylist() == declared.dead_letters.to_pylist()
    assert [stage.accounting for stage in guessed.stages] == [stage.accounting for stage in declared.stages]


def test_a_snapshot_of_records_without_a_type_goes_on() -> None:
    result = of(windows(fl.tumbling("1 min"), None))
    operator = result.operator()
    operator.add(CAME[:2])
    intakes = result.embedded_run().intakes
    operator = fl.WindowOperator.restore(operator.spec, operator.snapshot(), intakes=intakes)
    operator.add({**CAME[2], "ts": 40, "note": "typed"})
    operator.end()
    assert operator.take().column("notes").to_pylist() == [[None, None, "typed"]]


def test_a_column_to_go_by_has_a_type_from_the_start() -> None:
    with pytest.raises(fl.InputError, match="top: `by` names the column 'note', which has had no value yet"):
        windows(KINDS[0], None).top(1, by="note").table()
