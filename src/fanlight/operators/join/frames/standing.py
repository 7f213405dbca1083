"""How the windows of both sides stand: how many rows came, how far in time each side is, and its first offset.

It is the window metadata of SAMZA-552: what a window has follows from it, so that windows themselves are not kept.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace

import pyarrow as pa

from fanlight.model.time.timestamp import START_OF_TIME, Timestamp
from fanlight.state.store import Address, ChunkStore

_PLACE = Address("frames", 0, 0)


@dataclass(frozen=True, slots=True)
class SideStanding:
    """How the window of one side stands."""

    count: int = 0
    """How many rows have come; the number of the next one."""
    newest: Timestamp = START_OF_TIME
    """The greatest of their times."""
    reached: Timestamp = START_OF_TIME
    """The watermark that the window goes by."""
    swept: Timestamp = START_OF_TIME
    """The watermark at which rows that are in no window any more were deleted last."""
    swept_count: int = 0
    """How many rows had come then."""
    first_offset: int | None = None
    """The offset of the first row that came, where offsets are kept."""

    def at(self, watermark: Timestamp) -> SideStanding:
        """The same, moved on to a watermark; it never goes back."""
        return replace(self, reached=max(self.reached, watermark))

    def with_rows(self, count: int, newest: Timestamp, first_offset: int | None) -> SideStanding:
        """The same when so many rows have come, the newest of which has this time."""
        if not count:
            return self
        first = self.first_offset if self.count else first_offset
        return replace(self, count=self.count + count, newest=max(self.newest, newest), first_offset=first)

    def cleared(self) -> SideStanding:
        """The same, cleared of the rows that are in no window any more."""
        return replace(self, swept=self.reached, swept_count=self.count)


_STORED = pa.schema([(one.name, pa.int64()) for one in fields(SideStanding)])


def read_standing(store: ChunkStore) -> tuple[SideStanding, SideStanding]:
    """How the left side and the right one stand."""
    if _PLACE not in store.list(_PLACE.space):
        return SideStanding(), SideStanding()
    left, right = (SideStanding(**row) for row in store.get(_PLACE).to_pylist())
    return left, right


def write_standing(store: ChunkStore, left: SideStanding, right: SideStanding) -> None:
    """Keep how both stand."""
    store.put(_PLACE, pa.RecordBatch.from_pylist([asdict(left), asdict(right)], schema=_STORED))


def forget_standing(store: ChunkStore) -> None:
    """Forget it: the input has ended."""
    if _PLACE in store.list(_PLACE.space):
        store.delete(_PLACE)
