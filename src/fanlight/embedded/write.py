"""`write_to` in this process: a run to its end, handed whole to the sinks of its result, as batch 0 of its query."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

import pyarrow as pa

from fanlight.embedded.run import EmbeddedRun
from fanlight.errors import InputError, SpecError
from fanlight.operators.accounting import Accounting
from fanlight.operators.bind import bind
from fanlight.sinks.batch import Batch
from fanlight.sinks.delivery import DeliveryHere
from fanlight.sinks.result_schema import ACCOUNTING, ResultShape
from fanlight.sinks.sink import Sink


def shape_of(run: EmbeddedRun, letters: pa.Schema) -> ResultShape:
    """The shape of what a run gave; `letters` are the columns of the dead letters that go with it."""
    columns = run.columns
    if columns is None:
        raise InputError(
            "write_to: no record came, so nobody knows the columns to write. Give them, as in stream(…, schema=…)."
        )
    return ResultShape.of(run.spec, bind(run.spec, columns, lean=run.spec.fires_once), letters)


def deliver(
    sinks: Sequence[Sink],
    shape: ResultShape,
    rows: pa.Table,
    dead_letters: pa.Table,
    accounts: Sequence[Accounting],
    *,
    name: str | None,
    accepts: bool,
) -> None:
    """Hand a result to its sinks; every one checks it before any writes it, so that a refusal leaves all unchanged.

    Without a name it is a query of its own. With one, a place that has it already is left as it is.
    """
    query = name or f"run-{uuid.uuid4().hex}"
    batch = Batch(query, 0, rows.select(shape.rows.names).cast(shape.rows), dead_letters, accounting_of(accounts))
    delivery = DeliveryHere(batch, shape, accepts=accepts)
    for sink in sinks:
        sink.check(delivery)
    for sink in sinks:
        sink.write(delivery)


def accounting_of(accounts: Sequence[Accounting]) -> pa.Table:
    """The counts of each stage, the first first: a row of batch 0, in the one shard there is.

    >>> accounting_of([Accounting(received=2, accepted=2)]).select(["stage", "shard", "received"]).to_pylist()
    [{'stage': 1, 'shard': 0, 'received': 2}]
    """
    told = [{"stage": stage, "batch": 0, "shard": 0, **one.as_dict()} for stage, one in enumerate(accounts, 1)]
    return pa.Table.from_pylist(told, schema=ACCOUNTING)


def require_bounded(**said: object) -> None:
    """Refuse what only a stream on Spark has."""
    for name, value in said.items():
        if value:
            raise SpecError(
                f"write_to: `{name}` is for a DataFrame of Spark, and this pipeline runs in this process: it is read "
                "to its end, and written once. Leave it out, or give stream() a DataFrame."
            )
