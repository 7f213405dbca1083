"""Bind a spec once in each process of Spark, however many partitions and micro-batches it runs there."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import pyarrow as pa
from pyspark import cloudpickle

from fanlight.model.stream_spec import StreamSpec
from fanlight.operators.bind import bind
from fanlight.operators.operator import BoundSpec

_KEPT = 64
"""How many bound specs a process keeps."""


def bound_once(spec: StreamSpec, schema: pa.Schema, *, lean: bool = False) -> Callable[[], BoundSpec]:
    """The function that gives the bound spec where it is sent; a process binds equal specs once.

    What is bound is shared by all shards of the process, so nothing keeps state in it. A spec is bound each time if it
    is never equal to one that was sent before, as with a function that was written at a prompt: to keep it would fill
    the process and spare nothing.
    """
    if _stays_equal(spec):
        return partial(_bound, spec, repr(spec), schema, lean)
    return partial(bind, spec, schema, lean=lean)


def _stays_equal(spec: StreamSpec) -> bool:
    """Whether a spec can be looked up, and is equal to itself after it was sent."""
    try:
        hash(spec)
        sent: bytes = cloudpickle.dumps(spec)  # type: ignore[no-untyped-call]
        return bool(cloudpickle.loads(sent) == spec)
    except Exception:  # noqa: BLE001 -- a user's own values may raise anything; whoever sends the spec will say it
        return False


@lru_cache(maxsize=_KEPT)
def _bound(spec: StreamSpec, _written: str, schema: pa.Schema, lean: bool) -> BoundSpec:
    """A spec, bound. Equal values may be written differently, such as 0 and 0.0, and then are not the same."""
    return bind(spec, schema, lean=lean)
