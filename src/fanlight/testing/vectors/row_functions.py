"""Functions of rows as cases write them: `rank()`, `lag(v, 2)`."""

from __future__ import annotations

from fanlight.model.over.functions import RowFunction, dense_rank, first_value, lag, last_value, lead, rank, row_number

_NAMED = {"row_number": row_number, "rank": rank, "dense_rank": dense_rank}
_TAKEN = {"first_value": first_value, "last_value": last_value}


def function_of(function: str, given: str) -> RowFunction | None:
    """A function of rows that is no aggregate; None if it is one."""
    if function in _NAMED:
        return _NAMED[function]()
    if function in _TAKEN:
        return _TAKEN[function](given)
    column, _, offset = given.partition(",")
    match function:
        case "lag":
            return lag(column.strip(), int(offset or 1))
        case "lead":
            return lead(column.strip(), int(offset or 1))
    return None
