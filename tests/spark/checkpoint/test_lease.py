"""One query at a time has the right to a checkpoint, and the next may begin as soon as one has ended."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from fanlight.errors import StateError
from fanlight.spark.checkpoint.lease import Lease
from fanlight.spark.checkpoint.manifest import LOCK

pytestmark = pytest.mark.slow


class Ending:
    """A query that ends when it is told to."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    @property
    def isActive(self) -> bool:  # noqa: N802 -- PySpark's name
        return not self.ended.is_set()

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802 -- PySpark's name
        return self.ended.wait(timeout)


@pytest.fixture(autouse=True)
def _threads_that_change_often() -> Iterator[None]:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_the_next_query_begins_while_the_lease_of_the_last_one_is_being_released(tmp_path: Path) -> None:
    """The thread that waits for the end of a query and the one that starts the next meet at every place there is."""
    for number in range(2_000):
        query = Ending()
        Lease.take(tmp_path / LOCK).follow(query)
        with pytest.raises(StateError, match="already, in this process"):
            Lease.take(tmp_path / LOCK)
        query.ended.set()
        sum(range(number % 50 * 20))  # a little later each time
        Lease.take(tmp_path / LOCK).release()
