"""`fanlight inspect`: what the checkpoint of a query holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import pyarrow as pa
import typer
from rich.console import Console
from rich.table import Table

from fanlight.errors import FanlightError, InputError
from fanlight.model.join.sided import SidedSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.spec_json import to_document, words
from fanlight.operators.accounting import Accounting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from fanlight.spark.checkpoint.inspection import Inspection
    from fanlight.spark.checkpoint.join_inspection import JoinInspection

UNREADABLE = 2
"""The exit code where there is nothing to read."""


def inspect(
    checkpoint: Annotated[str, typer.Argument(metavar="CHECKPOINT", help="The checkpoint folder of a query.")],
    key: Annotated[list[str] | None, typer.Option(help="Only this key; may be said more than once.")] = None,
    start: Annotated[str | None, typer.Option(help="Only from this time on, as in 2026-01-31T12:00:00Z.")] = None,
    end: Annotated[str | None, typer.Option(help="Only up to this time.")] = None,
    messages: Annotated[bool, typer.Option("--messages", help="The stored records, not the windows.")] = False,
    stage: Annotated[
        int | None, typer.Option(help="Which stage of a pipeline that has several; else the last.")
    ] = None,
    limit: Annotated[int, typer.Option(help="Show at most this many rows.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object a row, and nothing else.")] = False,
) -> None:
    """Show the windows or the stored records of a query, running or stopped, from its checkpoint.

    Keys are text here; a key of several columns is written as JSON, as in '["tea", 5]'. Exits with 2 if there is
    nothing to read.
    """
    try:
        from fanlight.spark.checkpoint.inspection import inspect as look
        from fanlight.spark.checkpoint.join_inspection import JoinInspection
        from fanlight.spark.column_names import quoted

        seen = look(checkpoint, stage=stage)
        if isinstance(seen, JoinInspection):
            _show_sides(checkpoint, seen, limit, as_json=as_json)
            return
        read = seen.messages if messages else seen.windows
        frame = read([_key(one, seen) for one in key] if key else None, start, end)
        frame = frame.orderBy(*map(quoted, [seen.spec.time] if messages else ["window", *seen.spec.keys]))
        _print_json(frame, limit) if as_json else _print_all(checkpoint, seen, frame, limit)
    except FanlightError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(UNREADABLE) from None


def _show_sides(checkpoint: str, seen: JoinInspection, limit: int, *, as_json: bool) -> None:
    """The rows that a join keeps, input by input."""
    for side, _ in seen.sides:
        frame = seen.kept(side.name).orderBy(side.time)
        if as_json:
            _print_json(frame, limit)
        else:
            _print_all(f"{checkpoint}, rows of {side.name}", seen, frame, limit)


def _key(text: str, seen: Inspection) -> Any:
    """A key as it was typed: one that is text as it stands, any other as JSON."""
    names = seen.spec.keys
    if len(names) == 1 and pa.types.is_string(seen.plan.result.field(names[0]).type):
        return text
    try:
        read = json.loads(text)
    except ValueError:
        raise InputError(f"--key: {text!r} is not JSON, which a key of {', '.join(names)} is written in.") from None
    return tuple(read) if isinstance(read, list) else read


def _print_json(frame: DataFrame, limit: int) -> None:
    for row in frame.limit(limit).toArrow().to_pylist():
        print(json.dumps(row, default=_plain, ensure_ascii=False))


def _print_all(checkpoint: str, seen: Inspection, frame: DataFrame, limit: int) -> None:
    console = Console(highlight=False)
    console.print(f"{checkpoint}: the state after batch {seen.batch}", soft_wrap=True)
    for line in _declared(seen.spec):
        console.print(line, soft_wrap=True)
    console.print(f"  records  {_counts(seen)}")
    rows = frame.limit(limit + 1).toArrow().to_pylist()
    table = Table(*frame.columns)
    for row in rows[:limit]:
        table.add_row(*(_cell(value) for value in row.values()))
    console.print(table)
    if len(rows) > limit:
        console.print(f"There are more than these {limit}: see them with --limit.")


def _declared(spec: WindowSpec | SidedSpec) -> Iterator[str]:
    """What the query was declared to do, a line each."""
    if isinstance(spec, SidedSpec):
        yield from (f"  {word.ljust(7)}  {told}" for word, told in spec.told)
        return
    late = f", lateness {spec.lateness}" if spec.lateness.micros else ""
    yield f"  window   {words(to_document(spec.window))}{late}, by {', '.join(spec.keys) or 'nothing'}"
    yield f"  trigger  {words(to_document(spec.trigger))}, {spec.accumulation.value}"


def _counts(seen: Inspection) -> str:
    rows = seen.accounting().collect()
    counts = {name: sum(row[name] for row in rows) for name in Accounting().as_dict()}
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items())


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(_cell(part) for part in value.values())
    return _plain(value)


def _plain(value: Any) -> str:
    """A time in ISO 8601, UTC; anything else as text."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)
