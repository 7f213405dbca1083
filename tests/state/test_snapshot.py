"""Many chunks as bytes: small, whole, and the same for the same state."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl
from fanlight.errors import StateError
from fanlight.state.snapshot import decode_snapshot, encode_snapshot
from fanlight.state.store import Address


class TestSnapshots:
    CHUNKS = {  # noqa: RUF012
        Address("records", 5, 1): pa.record_batch({"t": ["x", None]}),
        Address("partials", -60_000_000, 0): pa.record_batch({"n": [1, 2, 3]}),
        Address("partials", 2**62, 0): pa.record_batch({"n": pa.array([], pa.int64())}),
    }

    def test_chunks_and_metadata_come_back(self) -> None:
        metadata = {"watermark": -(2**63), "inputs": {"L": None, "R": [1, "é"]}}
        chunks, back = decode_snapshot(encode_snapshot(self.CHUNKS, metadata))
        assert back == metadata
        assert chunks == self.CHUNKS
        assert list(chunks) == sorted(self.CHUNKS)

    def test_nothing_comes_back_as_nothing(self) -> None:
        assert decode_snapshot(encode_snapshot({}, {})) == ({}, {})

    def test_the_order_in_which_things_were_put_does_not_show(self) -> None:
        reverse = dict(reversed(self.CHUNKS.items()))
        assert encode_snapshot(self.CHUNKS, {"a": 1, "b": 2}) == encode_snapshot(reverse, {"b": 2, "a": 1})

    def test_damage_has_the_same_names(self) -> None:
        data = encode_snapshot(self.CHUNKS, {"a": 1})
        for length in range(1, len(data), 7):
            with pytest.raises(StateError, match="This snapshot is truncated"):
                decode_snapshot(data[:length])
        with pytest.raises(StateError, match="This snapshot is damaged"):
            decode_snapshot(data[:-9] + b"!" + data[-8:])

    def test_metadata_that_json_cannot_write_is_refused(self) -> None:
        with pytest.raises(StateError, match="`metadata` cannot be written as JSON"):
            encode_snapshot({}, {"a": object()})

    def test_another_version_is_called_so(self) -> None:
        """Snapshots of version 3 had a stream for each chunk."""
        data = encode_snapshot(self.CHUNKS, {})
        with pytest.raises(StateError, match=r"snapshot has format version 3; this Fanlight reads version 4.*Use the"):
            decode_snapshot(data[:4] + struct.pack("<H", 3) + data[6:])


def test_a_chunk_costs_its_rows_and_a_line_of_the_directory() -> None:
    """2,000 chunks of 3 rows are 48 kB as they are, and two megabytes where every one names its columns."""
    rows = pa.record_batch({"a name that is not short": range(6000)})
    chunks = {Address("partials", 10**15 + place, place): rows.slice(3 * place, 3) for place in range(2000)}
    data = encode_snapshot(chunks, {})
    assert len(data) < 30_000  # rows take 2 bytes each; a line of the directory 2 for its slice and 2 for its number
    assert decode_snapshot(data)[0] == chunks


@pytest.mark.parametrize(
    "window",
    [
        pytest.param(fl.tumbling("1 s"), id="tumbling"),
        pytest.param(fl.session("500 ms"), id="session", marks=pytest.mark.slow),
    ],
)
def test_open_windows_are_few_bytes_each(window: Any) -> None:
    """4,000 windows with a count and a sum, held for late records: under 40 bytes each, and they go on."""
    stream = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).key_by("k")
    spec = stream.window(window, lateness="1 day").retracting().agg(n=fl.count(), total=fl.sum("v")).spec
    operator = fl.WindowOperator(spec)
    operator.add(pa.table({"ts": range(4000), "k": ["tea"] * 4000, "v": range(4000)}), watermark="1970-01-01T01:00")
    operator.take()
    data = operator.snapshot()
    assert len(data) < 4000 * 40
    again = fl.WindowOperator.restore(spec, data)
    assert again.snapshot() == data
    for each in (operator, again):
        each.add([{"ts": 7, "k": "tea", "v": 1}])
        each.end()
    assert again.take().equals(operator.take())


_COLUMNS: list[pa.DataType] = [
    pa.int64(),
    pa.bool_(),
    pa.string(),
    pa.float64(),
    pa.list_(pa.int64()),
    pa.struct({"a": pa.int64(), "b": pa.string()}),
    pa.dictionary(pa.int32(), pa.string()),
    pa.string_view(),
    pa.decimal128(10, 2),
    pa.null(),
]


def _values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_null(kind):
        return st.none()
    of_kind: dict[str, st.SearchStrategy[Any]] = {
        "bool": st.booleans(),
        "double": st.floats(allow_nan=False),
        "list": st.lists(st.integers(-3, 3), max_size=3),
        "struct": st.fixed_dictionaries({"a": st.none() | st.integers(-3, 3), "b": st.none() | st.text(max_size=2)}),
        "decimal128": st.decimals(-10, 10, places=2),
        "int64": st.integers(-(2**63), 2**63 - 1),
    }
    named = next((values for name, values in of_kind.items() if str(kind).startswith(name)), st.text(max_size=3))
    return st.none() | named


@st.composite
def _chunks(draw: st.DrawFn) -> dict[Address, pa.RecordBatch]:
    addresses = st.builds(Address, st.sampled_from(["panes", "index"]), st.integers(-9, 9), st.integers(0, 3))
    found = {}
    for address in draw(st.sets(addresses, max_size=8)):
        kind = draw(st.sampled_from(_COLUMNS))
        column = pa.array(draw(st.lists(_values(kind), max_size=4)), kind)
        found[address] = pa.record_batch([column.slice(draw(st.integers(0, len(column))))], names=["v"])
    return found


@given(_chunks())
def test_whatever_their_columns_they_come_back(chunks: dict[Address, pa.RecordBatch]) -> None:
    data = encode_snapshot(chunks, {})
    back, _ = decode_snapshot(data)
    assert back.keys() == chunks.keys()
    for address, chunk in chunks.items():
        assert back[address].schema.equals(chunk.schema)
        assert back[address].to_pylist() == chunk.to_pylist()
    assert encode_snapshot(back, {}) == data
