"""Orders as a result that is just columns: no window, no pane; as operators give it that release rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from fanlight.operators.accounting import DeadLetters
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.result_schema import ResultShape

from .orders import SCHEMA, handed

ORDERS = pa.schema({"shop": pa.string(), "id": pa.int64(), "price": pa.float64(), "tags": pa.list_(pa.string())})
LETTERS = DeadLetters(SCHEMA).schema

ROWS = ResultShape.of_rows(ORDERS, LETTERS)
CHANGES = ResultShape.of_rows(ORDERS.append(pa.field("op", pa.string())), LETTERS, op="op")

Order = tuple[Any, ...]
"""(shop, id, price), and what it does if the result says so."""


def offered(shape: ResultShape, number: int, *orders: Order, **more: Any) -> Delivery:
    """A batch of these orders, as a sink is handed it."""
    names = ("shop", "id", "price", "op")
    rows = [{**dict(zip(names, order, strict=False)), "tags": ["new"]} for order in orders]
    return handed(shape, number, pa.Table.from_pylist(rows, schema=shape.rows), **more)
