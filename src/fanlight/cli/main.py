"""The command `fanlight`."""

from __future__ import annotations

from typing import Annotated

import typer

import fanlight as package
from fanlight.cli.archive import archive
from fanlight.cli.demo import demo
from fanlight.cli.inspect import inspect
from fanlight.cli.replay import replay

app = typer.Typer(
    name="fanlight",
    help="Event-time windows: early, on-time and late firings, retractions, dead letters.",
    no_args_is_help=True,
    add_completion=False,
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"fanlight {package.__version__}")
        raise typer.Exit


@app.callback()
def fanlight(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Say which version this is.")
    ] = False,
) -> None:
    """Event-time windows: early, on-time and late firings, retractions, dead letters."""


app.command()(archive)
app.command()(demo)
app.command()(inspect)
app.command()(replay)
