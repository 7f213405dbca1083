"""Choose the sinks for the targets that a user has given."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs

import pyarrow as pa

from fanlight.errors import SpecError
from fanlight.model.time.duration import Duration
from fanlight.sinks.batch import Part
from fanlight.sinks.database.connection import Database
from fanlight.sinks.database.sink import DatabaseSink
from fanlight.sinks.database.sqlite import SqliteDatabase
from fanlight.sinks.database.tables import table_of
from fanlight.sinks.files import is_url
from fanlight.sinks.function import Function, FunctionSink
from fanlight.sinks.jsonl import JsonLinesSink
from fanlight.sinks.parquet import ParquetSink
from fanlight.sinks.result_schema import ResultShape
from fanlight.sinks.shown_address import shown, shown_word
from fanlight.sinks.sink import Sink
from fanlight.sinks.unique_columns import Unique
from fanlight.sinks.user_sink import BatchSink, UserSink

Target = str | os.PathLike[str] | BatchSink | Function
"""A URL of a database, a path, a sink of the user's own, or a function of (rows, batch)."""

Jdbc = Callable[[str, tuple[tuple[str, str], ...]], Database]
"""A database by its JDBC address and what its driver is told; only Spark has one."""

Properties = Mapping[str, str | bool | int | float]
"""What a driver is told: text, or what is written as text."""

STOP, LETTERS = "stop", "letters"
"""What happens to a row that a database refuses: the query stops, or the row becomes a dead letter."""

KINDS = """
  'sqlite:///totals.db' with table='totals'    an SQLite database
  'jdbc:...' with table='totals'               any database with a JDBC driver
  'totals/' or 'totals.parquet'                a folder of parquet files
  'totals.jsonl'                               a file of JSON lines
  a function of (rows, batch)                  whatever it does
  an object with place, newest and take        a sink of your own (fanlight.sinks.BatchSink)"""

_SQLITE = "sqlite:///"
_WITHOUT_JDBC = re.compile(
    r"(?i)(postgres|postgresql|mysql|mariadb|oracle|sqlserver|mssql|db2|h2|hsqldb|derby|duckdb|clickhouse|snowflake"
    r"|redshift|trino|presto|vertica|teradata|sap)(\+\w+)?:"
)
"""Databases as other tools write them, some with a driver of Python behind a plus."""
_LINES, _PARQUET = ".jsonl", ".parquet"


def sinks_of(
    shape: ResultShape,
    target: Target,
    *,
    table: str | None = None,
    dead_letters: Target | None = None,
    accounting: Target | Literal[False] | None = None,
    properties: Properties | None = None,
    keep: Duration | None = None,
    refused: str = STOP,
    unique: Unique | None = None,
    jdbc: Jdbc | None = None,
) -> tuple[Sink, ...]:
    """The sinks of a result; every part goes somewhere, and those of one database go there together.

    Accounting alone may go nowhere, if it is False. `unique` are columns by which later rows replace earlier ones.

    Functions come last, so that they are not called again because another sink failed.
    """
    shape = shape if unique is None else shape.upserted_by(unique)
    placed: dict[Part, Target | Literal[False] | None] = {
        Part.ROWS: target,
        Part.DEAD_LETTERS: dead_letters if dead_letters is not None else _beside(target, Part.DEAD_LETTERS),
        Part.ACCOUNTING: accounting if accounting is not None else _beside(target, Part.ACCOUNTING),
    }
    wanted = {part: None if place is False else place for part, place in placed.items()}
    sinks: list[Sink] = []
    databases: dict[Database, list[tuple[Part, str]]] = {}
    for part, place in wanted.items():
        if place is None:  # handed over with the rows, or not wanted
            continue
        database = _database(os.fspath(place), properties, jdbc) if isinstance(place, str | os.PathLike) else None
        if database is not None:
            databases.setdefault(database, []).append((part, _table_name(part, table, database)))
        else:
            sinks.append(_file_or_code(part, place))
    if unique is not None:
        _require_upserts(sinks, shape)
    if table is not None and not databases:
        raise SpecError(
            f"write_to: `table` ({table!r}) names a table in a database, and no target is one. Leave it out."
        )
    if properties is not None and not any(_is_jdbc(database.address) for database in databases):
        raise SpecError("write_to: `properties` are for a JDBC driver, and no target is 'jdbc:...'. Leave them out.")
    for database, tables in databases.items():
        sinks.append(DatabaseSink(database, tuple(tables), shape, keep, refused == LETTERS))
    _require_letters(refused, databases)
    if keep is not None:
        _require_kept(keep, databases, shape)
    _require_apart(sinks)
    _require_fit(sinks, shape)
    return tuple(sorted(sinks, key=lambda sink: isinstance(sink, FunctionSink)))


def _require_letters(refused: str, databases: dict[Database, list[tuple[Part, str]]]) -> None:
    """Refuse dead letters of refused rows that could not be committed together with the other rows."""
    if refused not in (STOP, LETTERS):
        raise SpecError(f"write_to: `refused` ({refused!r}) is neither {STOP!r} nor {LETTERS!r}. Use one.")
    parts = [{part for part, _ in tables} for tables in databases.values()]
    if refused == LETTERS and not any({Part.ROWS, Part.DEAD_LETTERS} <= each for each in parts):
        raise SpecError(
            f"write_to: `refused` ({refused!r}) puts rows that a database refuses among the dead letters of the same "
            "database, in one transaction, and rows and dead letters do not go to one. Leave `refused` out, or "
            "`dead_letters`."
        )


def _require_kept(keep: Duration, databases: dict[Database, list[tuple[Part, str]]], shape: ResultShape) -> None:
    """Refuse a `keep` that has no effect."""
    if not any(part is not Part.ROWS for tables in databases.values() for part, _ in tables):
        raise SpecError(
            f"write_to: `keep` ({keep}) is how long dead letters and accounting stay in a database, and neither goes "
            "to one. Leave it out, or give them one, as in dead_letters='sqlite:///late.db'."
        )
    if not pa.types.is_timestamp(shape.dead_letters.field("watermark").type):
        raise SpecError(
            f"write_to: `keep` ({keep}) goes by event time, and windows over positions have none. Leave it out."
        )


def _require_upserts(sinks: list[Sink], shape: ResultShape) -> None:
    """Refuse `unique` for a place that only adds rows."""
    place = next((sink.places[Part.ROWS] for sink in sinks if Part.ROWS in sink.places), None)
    if place is not None:
        columns = ", ".join(shape.key)
        raise SpecError(
            f"write_to: `unique` ({columns}) puts a later row in the place of an earlier one, which only databases do, "
            f"and {place} takes every row as it comes. Use a database, as in 'sqlite:///rows.db' with table='rows'; or "
            f"leave `unique` out, and let the reader keep the last row of each ({columns})."
        )


def _file_or_code(part: Part, place: Target) -> Sink:
    if isinstance(place, BatchSink):
        return UserSink(place, part)
    if callable(place):
        return FunctionSink(place, part)
    path = _path(part, place)
    if path.endswith(_LINES) and not is_url(path):
        return JsonLinesSink(str(Path(path).absolute()), part)
    if path.endswith(("/", _PARQUET)):
        _require_no_secret(path)
        return ParquetSink(path.rstrip("/") if is_url(path) else str(Path(path).absolute()), part)
    raise SpecError(f"write_to: {shown_word(path)!r} is no target for {part.value}. Use one of these:{KINDS}")


def _path(part: Part, place: object) -> str:
    """The path that a user wrote, if it can be one at all."""
    if isinstance(place, str | os.PathLike):
        return os.fspath(place)
    missing = [name for name in ("place", "newest", "take") if not hasattr(place, name)]
    raise SpecError(
        f"write_to: a {type(place).__name__} is no target for {part.value}; for a sink of your own it lacks "
        f"{' and '.join(missing)}. Use one of these:{KINDS}"
    )


def _require_no_secret(path: str) -> None:
    """Refuse a URL of a file system with more than host and path: Spark itself would print it in its logs and plans."""
    host = path.partition("://")[2].partition("/")[0]
    if is_url(path) and (re.search("[?#;]", path) or ":" in host.rpartition("@")[0]):
        raise SpecError(
            f"write_to: the URL {shown(path)!r} holds more than a host and a path, and Spark shows URLs as they are. "
            "Give credentials to Spark's settings (spark.hadoop.fs....), and the URL without them."
        )


def _is_jdbc(target: str) -> bool:
    return target.startswith("jdbc:")


def _database(target: str, properties: Properties | None, jdbc: Jdbc | None) -> Database | None:
    if _is_jdbc(target):
        if jdbc is None:
            raise SpecError(
                f"write_to: {shown(target)!r} is reached by Spark, through its JVM, and this pipeline runs in this "
                "process. Use 'sqlite:///totals.db', a function of (rows, batch) with a client of your own, or give "
                "stream() a DataFrame."
            )
        told = {name: _property(name, value) for name, value in (properties or {}).items()}
        return jdbc(target, tuple(sorted(told.items())))
    if found := _WITHOUT_JDBC.match(target):
        named = {"postgres": "postgresql", "mssql": "sqlserver"}.get(found[1].lower(), found[1].lower())
        raise SpecError(
            f"write_to: {shown(target)!r} is a database, and those are written to by JDBC. Write the address as its "
            f"JDBC driver wants it, as in 'jdbc:{named}://host/database', with properties={{'user': …, 'password': …}}."
        )
    if not target.startswith("sqlite:"):
        return None
    path, _, options = target.removeprefix(_SQLITE).partition("?")
    given = parse_qs(options, keep_blank_values=True)
    if not target.startswith(_SQLITE) or path in ("", ":memory:") or given.keys() - {"timeout"}:
        raise SpecError(
            f"write_to: {shown(target)!r} names no SQLite file. Use 'sqlite:///totals.db', 'sqlite:////var/totals.db' "
            "for a path from the root, and '?timeout=5' behind it for how many seconds to wait for a lock."
        )
    timeout = {"timeout": _seconds(target, given["timeout"][-1])} if given else {}
    return SqliteDatabase(str(Path(path).absolute()), **timeout)


def _property(name: str, value: object) -> str:
    """A driver's property as text; Java writes true and false small."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    raise SpecError(
        f"write_to: the property {name!r} is a {type(value).__name__}, and drivers take text, numbers, True and False. "
        "Leave it out, or write it as text."
    )


def _seconds(target: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise SpecError(
            f"write_to: `timeout` ({shown_word(text)!r}) in {shown(target)!r} is no number of seconds."
        ) from None


def _table_name(part: Part, table: str | None, database: Database) -> str:
    if part is Part.ROWS:
        if not table:
            raise SpecError(f"write_to: {database.address} needs a table. Name one, as in table='totals'.")
        return table
    return f"{table}_{part.value}" if table else part.value


def _beside(target: Target, part: Part) -> Target | None:
    """The default place of a part: next to the rows, or the code that takes the rows."""
    if not isinstance(target, str | os.PathLike):
        return None
    path = os.fspath(target)
    if path.startswith(("sqlite:", "jdbc:")):
        return path
    for ending in (_LINES, _PARQUET, "/"):
        if path.endswith(ending):
            return f"{path.removesuffix(ending)}_{part.value}{ending}"
    return path


def _require_apart(sinks: list[Sink]) -> None:
    """Refuse two parts in one file, folder or table."""
    seen: dict[str, Part] = {}
    for sink in sinks:
        if isinstance(sink, FunctionSink):
            continue
        places = {sink.part: sink.places[sink.part]} if isinstance(sink, UserSink) else sink.places
        for part, place in places.items():
            other = seen.setdefault(place, part)
            if other is not part:
                raise SpecError(
                    f"write_to: {other.value} and {part.value} would both go to {place}. Give one another place."
                )


def _require_fit(sinks: list[Sink], shape: ResultShape) -> None:
    """Refuse columns that a place has its own use for, before a query starts."""
    for sink in sinks:
        if isinstance(sink, DatabaseSink):
            for part, name in sink.tables:
                table_of(part, name, shape)
        elif isinstance(sink, ParquetSink) and sink.part is Part.ROWS and "batch" in shape.rows.names:
            raise SpecError(
                f"write_to: a result column is called 'batch', as are the subfolders of {sink.path}. "
                "Give the column another name."
            )
