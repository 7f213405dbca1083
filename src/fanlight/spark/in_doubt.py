"""Times of which only a shard can tell whether they are too far ahead: the packer tells every shard all of them.

Each comes with the watermark that it stands for, so that all shards of a stage move on to the same one: that of the
greatest time that is not too far ahead of the clock.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Ints
from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.spark.wire import opened, packed

_NAMES = ["time", "watermark"]


def told(times: Ints, watermarks: Ints) -> bytes:
    """What the packer tells: times, and the watermark of each.

    >>> message = told(np.array([50, 70]), np.array([45, 65]))
    >>> settled([message], limit=60), settled([message], limit=80), settled([], limit=80) == START_OF_TIME
    (45, 65, True)
    """
    return packed(pa.record_batch([pa.array(times), pa.array(watermarks)], _NAMES))


def settled(messages: Iterable[bytes], limit: Timestamp) -> Timestamp:
    """The watermark of the greatest of these times that is not above `limit`."""
    reached = START_OF_TIME
    for message in messages:
        times, watermarks = (column.to_numpy() for column in opened(message).columns)
        reached = max(reached, int(np.max(watermarks[times <= limit], initial=START_OF_TIME)))
    return reached
