"""Chunks as bytes: everything comes back, equal content is equal bytes, and damage has a name."""

from __future__ import annotations

import struct
import zlib
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanlight.errors import StateError
from fanlight.state.codec import FrameKind, decode, encode
from fanlight.state.snapshot import decode_snapshot, encode_snapshot

POINT = pa.struct([("x", pa.int64()), ("label", pa.string())])

COLUMNS: dict[str, pa.Array[Any]] = {
    "ints": pa.array([1, None, -(2**63)]),
    "bools": pa.array([True, None, False]),
    "floats": pa.array([float("inf"), None, -0.0]),
    "text": pa.array(["", None, "zürich ☂"]),
    "large text": pa.array(["a" * 100_000, None, "b"], pa.large_string()),
    "views": pa.array(["short", None, "long enough to be out of line"], pa.string_view()),
    "bytes": pa.array([b"\x00\xff", None, b""]),
    "decimals": pa.array([Decimal("1.50"), None, Decimal("-99999999.99")], pa.decimal128(10, 2)),
    "wide decimals": pa.array([Decimal(10) ** 60, None, Decimal(0)], pa.decimal256(70, 2)),
    "times": pa.array([datetime(2024, 1, 1, tzinfo=UTC), None, None], pa.timestamp("us", "Europe/Paris")),
    "structs": pa.array([{"x": 1, "label": "a"}, None, {"x": None, "label": None}], POINT),
    "nested": pa.array([{"p": {"x": 1, "label": "a"}}, {"p": None}, None], pa.struct([("p", POINT)])),
    "lists": pa.array([[1, None], None, []], pa.list_(pa.int64())),
    "lists of structs": pa.array([[{"x": 1, "label": "a"}, None], None, []], pa.list_(POINT)),
    "fixed lists": pa.array([[1, 2], None, [3, None]], pa.list_(pa.int64(), 2)),
    "maps": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
    "dictionary": pa.array(["a", None, "a"]).dictionary_encode(),
    "dictionary with a null": pa.DictionaryArray.from_arrays([0, 1, None], pa.array(["a", None])),
    "nulls": pa.nulls(3),
}


def chunk_of(column: pa.Array[Any]) -> pa.RecordBatch:
    return pa.record_batch([column], names=["column"])


class TestRoundTrip:
    @pytest.mark.parametrize("name", COLUMNS)
    def test_every_type_comes_back(self, name: str) -> None:
        chunk = chunk_of(COLUMNS[name])
        back = decode(encode(chunk))
        back.validate(full=True)
        assert back.equals(chunk, check_metadata=True)
        assert encode(back) == encode(chunk)

    @pytest.mark.parametrize("name", COLUMNS)
    def test_no_rows_keep_their_types(self, name: str) -> None:
        chunk = chunk_of(COLUMNS[name].slice(0, 0))
        assert decode(encode(chunk)).equals(chunk)

    def test_many_columns_and_the_metadata_of_the_schema_come_back(self) -> None:
        schema = pa.schema(
            [pa.field(name, column.type, metadata={"about": name}) for name, column in COLUMNS.items()], {"spec": "7"}
        )
        chunk = pa.RecordBatch.from_arrays(list(COLUMNS.values()), schema=schema)
        assert decode(encode(chunk)).equals(chunk, check_metadata=True)

    @pytest.mark.parametrize("rows", [0, 3])
    def test_no_columns_keep_their_rows(self, rows: int) -> None:
        chunk = pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
        assert decode(encode(chunk)).num_rows == rows

    def test_columns_come_back_as_views(self) -> None:
        data = encode(pa.record_batch({"n": np.arange(10_000)}))
        before = pa.total_allocated_bytes()
        chunk = decode(data)
        assert chunk.num_rows == 10_000
        assert pa.total_allocated_bytes() - before < 10_000


class TestSameContentSameBytes:
    @pytest.mark.parametrize("name", COLUMNS)
    @pytest.mark.parametrize("before", [0, 1, 9])
    def test_a_slice_is_written_like_a_column_of_its_own(self, name: str, before: int) -> None:
        column = COLUMNS[name]
        whole = pa.concat_arrays([*[column] * 3, column, *[column] * 3])
        if isinstance(whole, pa.DictionaryArray):
            column = pa.DictionaryArray.from_arrays(column.indices, whole.dictionary)
        assert encode(chunk_of(whole.slice(before, 3))) == encode(
            chunk_of(pa.concat_arrays([column] * 4).slice(before % 3, 3))
        )

    def test_bytes_under_nulls_leave_no_trace(self) -> None:
        def column(hidden: int) -> pa.Array[Any]:
            values = pa.py_buffer(np.array([1, hidden, 3]))
            return pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), values])

        assert encode(chunk_of(column(7))) == encode(chunk_of(column(8))) == encode(chunk_of(pa.array([1, None, 3])))

    def test_fields_under_null_structs_leave_no_trace(self) -> None:
        def column(hidden: int) -> pa.Array[Any]:
            return pa.StructArray.from_arrays([pa.array([1, hidden])], names=["x"], mask=pa.array([False, True]))

        assert encode(chunk_of(column(7))) == encode(chunk_of(column(8)))

        def inside(hidden: int) -> pa.Array[Any]:
            return pa.ListArray.from_arrays([0, 2], column(hidden))

        assert encode(chunk_of(inside(7))) == encode(chunk_of(inside(8)))

    def test_bits_after_the_end_leave_no_trace(self) -> None:
        column = pa.array([True, None, True, True, None, True, True])
        assert encode(chunk_of(column.slice(0, 3))) == encode(chunk_of(pa.array([True, None, True])))

    @given(st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=20), st.data())
    def test_any_slice_of_any_text(self, texts: list[str | None], data: st.DataObject) -> None:
        start = data.draw(st.integers(0, len(texts)))
        sliced = pa.array(texts, pa.string()).slice(start)
        assert encode(chunk_of(sliced)) == encode(chunk_of(pa.array(texts[start:], pa.string())))


VERSION = FrameKind.CHUNK.version


class TestDamage:
    DATA = encode(pa.record_batch({"n": [1, 2, 3], "t": ["a", "b", None]}))

    @pytest.mark.parametrize("data", [b"", b"PAR1" + bytes(100), b"\x80\x04]", b"F0NL" + DATA[4:]])
    def test_foreign_bytes_are_called_foreign(self, data: bytes) -> None:
        with pytest.raises(StateError, match=r"not a chunk of Fanlight.*Check where they were read from"):
            decode(data)

    def test_another_version_is_called_so(self) -> None:
        other = self.DATA[:4] + struct.pack("<H", VERSION + 1) + self.DATA[6:]
        with pytest.raises(
            StateError, match=f"format version {VERSION + 1}.*reads version {VERSION}.*Use the Fanlight"
        ):
            decode(other)

    def test_every_truncation_is_called_so(self) -> None:
        for length in range(1, len(self.DATA)):
            with pytest.raises(StateError, match=r"truncated.*Restore it from a copy"):
                decode(self.DATA[:length])

    def test_every_flipped_bit_is_noticed(self) -> None:
        for place in range(len(self.DATA)):
            for bit in (0x01, 0x80):
                flipped = bytearray(self.DATA)
                flipped[place] ^= bit
                with pytest.raises(StateError):
                    decode(bytes(flipped))

    def test_a_flipped_payload_is_called_damaged(self) -> None:
        with pytest.raises(StateError, match="damaged: its checksum does not fit"):
            decode(self.DATA[:-1] + bytes([self.DATA[-1] ^ 1]))

    def test_bytes_after_the_end_are_called_damage(self) -> None:
        with pytest.raises(StateError, match="damaged: 2 bytes follow its end"):
            decode(self.DATA + b"xx")

    def test_a_snapshot_is_no_chunk_and_a_chunk_no_snapshot(self) -> None:
        with pytest.raises(StateError, match="This is a snapshot of Fanlight, not a chunk"):
            decode(encode_snapshot({}, {}))
        with pytest.raises(StateError, match="This is a chunk of Fanlight, not a snapshot"):
            decode_snapshot(self.DATA)

    def test_a_whole_frame_that_arrow_cannot_read_is_a_state_error(self) -> None:
        payload = b"not a stream"
        with pytest.raises(StateError, match=r"Arrow .* cannot read it"):
            decode(struct.pack("<4sHHQQ", b"FANL", VERSION, 1, len(payload), zlib.crc32(payload)) + payload)
