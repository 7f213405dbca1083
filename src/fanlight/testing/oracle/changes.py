"""Changes, read slowly: what the operation of a record is, and which row a delete takes."""

from __future__ import annotations

from fanlight.model.changes import Changes
from fanlight.model.firing import Op
from fanlight.testing.script import Record

_CODES = {op.code: op for op in Op}


def operation(changes: Changes, record: Record) -> Op | None:
    """What a record does; None if its operation is none."""
    said = record[changes.op]
    return _CODES.get(said if said in _CODES else dict(changes.words).get(said, ""))


def is_delete(changes: Changes, record: Record) -> bool:
    """Whether a record takes a row back."""
    return operation(changes, record) in (Op.RETRACT, Op.DELETE)


def without_operation(changes: Changes, record: Record) -> Record:
    """The row that a record inserts or deletes."""
    return {name: value for name, value in record.items() if name != changes.op}
