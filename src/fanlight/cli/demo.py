"""`fanlight demo`: orders through a windowed pipeline on Spark, watched while it runs."""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import fanlight as fl
from fanlight.cli.orders import COLUMNS, PRODUCTS, write_orders

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_INTERRUPTED = 130
_WINDOWS = 3
_STYLES = {"EARLY": "yellow", "ON_TIME": "green", "LATE": "magenta"}


def demo(
    files: Annotated[int, typer.Option(help="Files of orders to stream, one a micro-batch.", min=1)] = 20,
    orders: Annotated[int, typer.Option(help="Orders in each file.", min=1)] = 5_000,
    out: Annotated[Path | None, typer.Option(help="Where to keep orders, results and checkpoint.")] = None,
) -> None:
    """Stream generated orders through a hopping window on Spark and watch the results change.

    Early, on-time and late firings, each correction taking the last one back; orders that come too late are kept as
    dead letters. Ends by itself; Ctrl-C ends it early and leaves everything where it is.
    """
    folder = Path(tempfile.mkdtemp(prefix="fanlight-demo-")) if out is None else out.absolute()
    console = Console(highlight=False)
    console.print(f"[bold]{files * orders:,}[/] orders in {files} files, a Spark session is starting ...")
    write_orders(folder / "orders", files, orders)
    with _quietly(folder / "spark.log"):
        from fanlight.spark.session import spark_session

        spark = spark_session(spark_ui_enabled="false", spark_log_level="ERROR")
        finished = False
        try:
            query = _start(spark, folder)
            finished = _watch(query, folder / "totals.db", files, console)
        except KeyboardInterrupt:
            console.print("\nStopping; the checkpoint keeps what has been done.")
        finally:
            for active in spark.streams.active:
                active.stop()
            spark.stop()
    _conclude(folder, console)
    if not finished:
        raise typer.Exit(_INTERRUPTED)


def pipeline(orders: DataFrame) -> fl.Result:
    """Revenue of each product in the last ten minutes, every five; corrected for half an hour."""
    return (
        fl.stream(orders, time="ts", delay="30 seconds")
        .key_by("product")
        .window(fl.hopping("10 minutes", every="5 minutes"), lateness="30 minutes")
        .trigger(fl.at_watermark(early=fl.after(1), late=fl.after(1)))
        .retracting()
        .agg(n=fl.count(), revenue=fl.sum("price"), dearest=fl.max("price"))
    )


def _start(spark: SparkSession, folder: Path) -> StreamingQuery:
    source = spark.readStream.schema(COLUMNS).option("maxFilesPerTrigger", 1).parquet(str(folder / "orders"))
    query = pipeline(source).write_to(
        f"sqlite:///{folder / 'totals.db'}",
        table="totals",
        checkpoint=str(folder / "checkpoint"),
        available_now=True,
    )
    assert query is not None  # a stream always has one
    return query


def _watch(query: StreamingQuery, database: Path, files: int, console: Console) -> bool:
    """Show what stands while the query runs; whether it came to its end."""
    progress = Progress(
        TextColumn("micro-batches"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=console
    )
    bar = progress.add_task("batches", total=files)
    with Live(progress, console=console, refresh_per_second=4) as live:
        while query.isActive:
            sleep(0.25)
            progress.update(bar, completed=min(files, _batches(database)))
            live.update(Group(progress, _standing(database), _figures(database)))
        problem = query.exception()
        if problem is not None:
            raise problem
        progress.update(bar, completed=files)
        live.update(Group(progress, _standing(database), _figures(database)))
    return True


def _standing(database: Path) -> Table:
    """The newest windows as they stand: revenue, how it last fired, how often it was corrected."""
    rows = _ask(
        database,
        "SELECT product, window_start, revenue, pane_timing, pane_number FROM totals WHERE window_start IN "
        f"(SELECT DISTINCT window_start FROM totals ORDER BY window_start DESC LIMIT {_WINDOWS})",
    )
    starts = sorted({row[1] for row in rows})
    cells = {(row[0], row[1]): _cell(*row[2:]) for row in rows}
    table = Table(title="revenue of ten minutes", title_justify="left")
    table.add_column("product")
    for start in starts:
        table.add_column(f"from {start[11:16]}", justify="right", min_width=18)
    for product in PRODUCTS:
        table.add_row(product, *(cells.get((product, start), "") for start in starts))
    return table


def _cell(revenue: str, timing: str, number: int) -> str:
    corrected = f" x{number + 1}" if number else ""
    return f"{float(revenue):,.2f} [{_STYLES[timing]}]{timing.lower().replace('_', ' ')}{corrected}[/]"


def _figures(database: Path) -> str:
    ((received, accepted, dead),) = _ask(
        database, "SELECT SUM(received), SUM(accepted), SUM(dead_letters) FROM totals_accounting"
    ) or [(0, 0, 0)]
    ((panes, corrections),) = _ask(database, "SELECT COUNT(*), SUM(pane_number) FROM totals") or [(0, 0)]
    return (
        f"{received or 0:,} orders in = {accepted or 0:,} accepted + {dead or 0:,} dead letters; "
        f"{panes or 0:,} panes, {corrections or 0:,} results taken back and corrected"
    )


def _conclude(folder: Path, console: Console) -> None:
    database = folder / "totals.db"
    reasons = _ask(database, "SELECT reason, COUNT(*) FROM totals_dead_letters GROUP BY reason ORDER BY reason")
    timings = _ask(database, "SELECT pane_timing, COUNT(*) FROM totals GROUP BY pane_timing ORDER BY pane_timing")
    console.print("\n" + _figures(database), soft_wrap=True)
    console.print("last firing of each pane: " + (", ".join(f"{n} {t.lower()}" for t, n in timings) or "none"))
    console.print("dead letters: " + (", ".join(f"{n} {reason}" for reason, n in reasons) or "none"))
    console.print(f"\nresults      {database}  (tables totals, totals_dead_letters, totals_accounting)", soft_wrap=True)
    console.print(f"checkpoint   {folder / 'checkpoint'}", soft_wrap=True)
    console.print(f"Spark's log  {folder / 'spark.log'}", soft_wrap=True)


def _batches(database: Path) -> int:
    found = _ask(database, "SELECT COUNT(DISTINCT batch) FROM totals_accounting")
    return int(found[0][0]) if found else 0


def _ask(database: Path, question: str) -> list[Any]:
    """The answer of the results so far; none before the first batch."""
    if not database.exists():
        return []
    try:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return connection.execute(question).fetchall()
    except sqlite3.OperationalError:
        return []


@contextmanager
def _quietly(log: Path) -> Iterator[None]:
    """Send what Spark and its workers say on the error stream to a file, so that the picture stays whole."""
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
