"""The rows that a join keeps, seen from outside."""

from __future__ import annotations

import pyarrow as pa

from fanlight.operators.operator import Progress
from fanlight.operators.shard import Shard


def kept_rows(shard: Shard) -> dict[str, pa.Table]:
    """The rows that the join of a shard keeps, by input, between two steps."""
    each = {name: (reached, reached) for name, reached in shard.inputs.watermarks.since.items()}
    standing = Progress(shard.watermark, shard.watermark, shard.clock, shard.arrived - 1, inputs=each)
    return shard.require_operator().kept(standing)
