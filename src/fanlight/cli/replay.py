"""`fanlight replay`: run vector files and say how every case came out."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from fanlight.errors import EngineError, VectorError
from fanlight.testing.vectors import ENGINES, Status, Vector, Verdict, load, require_engine
from fanlight.testing.vectors import replay as replay_case

FAILED, UNREADABLE = 1, 2
"""Exit codes: a case came out otherwise than expected; nothing was run."""

_STYLES = {Status.PASS: "green", Status.FAIL: "bold red", Status.NOT_ADOPTED: "yellow"}
_WIDTH = max(len(status.value) for status in Status)


def replay(
    files: Annotated[list[Path], typer.Argument(metavar="FILES...", help="Vector files (windowing-vectors/1).")],
    engine: Annotated[str, typer.Option(help=f"Where to run them: {', '.join(ENGINES)}.")] = "embedded",
    as_json: Annotated[bool, typer.Option("--json", help="Print a list of {name, status, reason}.")] = False,
) -> None:
    """Replay vector files: one line a case, and a total.

    Exits with 1 if a case differs, with 2 if a file cannot be read.
    """
    vectors = _read(files, engine)
    if as_json:
        verdicts = [replay_case(vector, engine) for vector in vectors]
        print(json.dumps([_entry(verdict) for verdict in verdicts], indent=2, ensure_ascii=False))
    else:
        verdicts = _print_each(vectors, engine)
    if any(verdict.status is Status.FAIL for verdict in verdicts):
        raise typer.Exit(FAILED)


def _read(files: list[Path], engine: str) -> list[Vector]:
    """Every case of every file, before the first is run: a run is whole or it is not begun."""
    try:
        require_engine(engine)
        return [vector for file in files for vector in load(file)]
    except (EngineError, VectorError) as error:
        _refuse(f"replay: {error}")
        raise


def _refuse(message: str) -> None:
    typer.echo(message, err=True)
    raise typer.Exit(UNREADABLE)


def _print_each(vectors: list[Vector], engine: str) -> list[Verdict]:
    console = Console(highlight=False, soft_wrap=True)
    verdicts = []
    for vector in vectors:
        verdict = replay_case(vector, engine)
        console.print(_line(verdict))
        verdicts.append(verdict)
    console.print(_total(verdicts))
    return verdicts


def _line(verdict: Verdict) -> Text:
    line = Text(f"{verdict.status.value:<{_WIDTH}}", style=_STYLES[verdict.status])
    line.append(f"  {verdict.name}", style="default")
    if verdict.reason:
        line.append(f": {verdict.reason}", style="default")
    return line


def _total(verdicts: list[Verdict]) -> str:
    counts = Counter(verdict.status for verdict in verdicts)
    told = ", ".join(f"{counts[status]} {status.value}" for status in Status)
    return f"{len(verdicts)} cases: {told}"


def _entry(verdict: Verdict) -> dict[str, str]:
    return {"name": verdict.name, "status": verdict.status.value, "reason": verdict.reason}
