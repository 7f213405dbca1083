"""The command `fanlight`."""

from __future__ import annotations

import typer

from fanlight.cli.demo import demo
from fanlight.cli.inspect import inspect
from fanlight.cli.replay import replay

app = typer.Typer(
    name="fanlight",
    help="Event-time windows: early, on-time and late firings, retractions, dead letters.",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def fanlight() -> None:
    """Event-time windows: early, on-time and late firings, retractions, dead letters."""


app.command()(demo)
app.command()(inspect)
app.command()(replay)
