"""Check that a database can tell the rows of a table apart, before the first row is written.

Upserts delete by key. Where the database takes two keys for one (`tea` and `TEA`, `a` and `a ` by their collation), one
key's row would replace another's; where it cuts names off, one table would be another.
"""

from __future__ import annotations

from fanlight.errors import SinkError
from fanlight.sinks.database.connection import Connection
from fanlight.sinks.database.statements import named
from fanlight.sinks.database.tables import Table, index_of, is_text

_PROBE = "tea"
_RENAMED = {"pane_number": "pane_index"}
"""Columns that had another name in a Fanlight before this one."""
_ALIKE = ("TEA", "tea ", "t\u00e9a", "te\u00ada")
"""What a loose collation takes for the probe: other capitals, blanks at the end, accents, letters nobody sees."""


def require_names(connection: Connection, table: Table, place: str) -> None:
    """Refuse names that the database has no room for: some cut them off in silence, and two may become one."""
    names = [*table.name.split("."), *table.schema.names]
    if table.key and not connection.has(table):
        names.append(index_of(table))
    for name in names:
        longest = connection.too_long(name)
        if longest is not None:
            raise SinkError(
                f"write_to: {place}: the name {name!r} is longer than the {longest} that the database has room for. "
                "Nothing was written. Use a shorter `table`, or shorter names of keys and aggregates."
            )


def require_columns_of_now(
    connection: Connection, table: Table, place: str, problems: tuple[type[Exception], ...]
) -> None:
    """Refuse a table that has a column under the name that it had in an earlier Fanlight, with the change to make."""
    for now, before in _RENAMED.items():
        if now not in table.schema.names or _has(connection, table, now, problems):
            continue
        if _has(connection, table, before, problems):
            old, new = connection.quoted(before), connection.quoted(now)
            raise SinkError(
                f"write_to: {place}: the column {before!r} is called {now!r} now, and the table has it under its old "
                "name. Nothing was written. Rename it, and start again: "
                f"ALTER TABLE {named(connection, table.name)} RENAME COLUMN {old} TO {new};"
            )


def _has(connection: Connection, table: Table, column: str, problems: tuple[type[Exception], ...]) -> bool:
    """Whether a table has a column: it can be asked for."""
    where = f"{connection.quoted(column)} IS NULL AND 1 = 0"
    try:
        connection.number(f"SELECT COUNT(*) FROM {named(connection, table.name)} WHERE {where}")
    except problems:
        return False
    return True


def require_exact(connection: Connection, table: Table, place: str, problems: tuple[type[Exception], ...]) -> None:
    """Refuse a table, made by whomever, whose keys the database does not compare byte for byte."""
    keys = [name for name in table.key if is_text(table.schema.field(name).type)]
    padded = connection.padded(table) if keys else frozenset()
    for name in keys:
        if name in padded:
            found = "fills its values up with blanks, so that those at the end of a key cannot be told"
        elif (alike := _taken_for(connection, table, name, problems)) is None:
            continue
        elif alike == _PROBE:
            found = "is of a type that does not hold any text"
        else:
            found = f"compares loosely: {_PROBE!r} = {alike!r} in it"
        raise SinkError(
            f"write_to: {place}: column {name!r} tells rows apart and {found}. So the row of one key could replace "
            f"that of another. Nothing was written. Make it compare byte for byte: {connection.retyped(table, name)}"
        )


def _taken_for(connection: Connection, table: Table, name: str, problems: tuple[type[Exception], ...]) -> str | None:
    """What the column takes for the probe, if anything; the probe itself if it does not even know that one again.

    Rows are not needed: a text beside the rows of the column, of which none is asked for, gets its collation.
    """
    condition, marks = connection.equal(table.schema.field(name))
    column = connection.quoted(name)
    question = (
        f"SELECT COUNT(*) FROM (SELECT {column} FROM {named(connection, table.name)} WHERE 1 = 0 "
        f"UNION ALL SELECT '{_PROBE}' AS {column}{connection.nowhere}) probe WHERE {condition}"
    )
    try:
        if connection.number(question, *[_PROBE] * marks) != 1:
            return _PROBE
    except problems as problem:
        if connection.refuses(problem):
            return _PROBE
        raise  # such as a table of other columns
    for alike in _ALIKE:
        try:
            if connection.number(question, *[alike] * marks):
                return alike
        except problems:  # what it has no letters for, it does not take for the probe
            continue
    return None
