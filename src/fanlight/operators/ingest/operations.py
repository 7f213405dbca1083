"""Operations of changes: which records insert a row, which take one back, and which say neither."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from fanlight.errors import InputError
from fanlight.kernels.grouping.groups import Bools
from fanlight.kernels.plain_type import plain_type
from fanlight.model.changes import OPERATIONS, Changes
from fanlight.model.firing import Op
from fanlight.model.reason import Reason
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.ingest.columns import plain, require_column

_DELETES = (Op.RETRACT.code, Op.DELETE.code)


@dataclass(frozen=True, slots=True)
class OperationReader:
    """Reads the column of operations: the codes mean themselves, other words what the stream says of them."""

    changes: Changes

    @staticmethod
    def of(changes: Changes | None, schema: pa.Schema) -> OperationReader | None:
        """The reader of a stream's changes; None if it has none. An `InputError` if the column has no text."""
        if changes is None:
            return None
        for name in (changes.op, *changes.unique):
            require_column(schema, name)
        kind = plain_type(schema.field(changes.op).type)
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
            raise InputError(
                f"stream: the column of operations {changes.op!r} is {kind}, and operations are words. "
                f"Cast it to text; `words` says what yours mean, or use {', '.join(OPERATIONS)}."
            )
        return OperationReader(changes)

    def read(self, bundle: Bundle, books: Books) -> Bundle:
        """The bundle with its deletes marked; records whose operation is none become dead letters."""
        if not len(bundle):
            return bundle
        said = self._said(bundle.batch)
        known = _among(said, self._words(OPERATIONS))
        if not known.all():
            self._reject(bundle, said, ~known, books)
            bundle, said = bundle.where(known), said.filter(pa.array(known))
        deletes = _among(said, self._words(_DELETES))
        return replace(bundle, deletes=deletes if deletes.any() else None)

    def deletes(self, batch: pa.RecordBatch) -> Bools:
        """Which records take a row back; those whose operation is none do not."""
        return _among(self._said(batch), self._words(_DELETES))

    def strange(self, batch: pa.RecordBatch) -> Bools:
        """Which records have an operation that is none."""
        return ~_among(self._said(batch), self._words(OPERATIONS))

    def _said(self, batch: pa.RecordBatch) -> pa.Array:
        return plain(batch.column(self.changes.op)).cast(pa.string())

    def _words(self, meanings: tuple[str, ...]) -> list[str]:
        """The words that mean one of these operations. A code always means itself."""
        return [
            *meanings,
            *(word for word, meant in self.changes.words if meant in meanings and word not in OPERATIONS),
        ]

    def _reject(self, bundle: Bundle, said: pa.Array, strange: Bools, books: Books) -> None:
        found = pc.dictionary_encode(said.filter(pa.array(strange)), null_encoding="encode")
        told = [json.dumps({self.changes.op: word}) for word in found.dictionary.to_pylist()]
        details = pa.array(told, pa.string()).take(found.indices)
        books.reject(bundle.batch, strange, Reason.NO_SUCH_OPERATION, bundle.watermarks, details)


def _among(said: pa.Array, words: list[str]) -> Bools:
    """Which of the words said are among these."""
    found: Bools = pc.is_in(said, pa.array(words, pa.string())).to_numpy(zero_copy_only=False)
    return found
