"""Windows over the records of each key: full when so many have come."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.groups import Ints
from fanlight.kernels.keys import KeyCodes, encode
from fanlight.kernels.slicing import EVERY_WINDOW, NO_WINDOW, Periodic
from fanlight.kernels.tuples import places_within
from fanlight.model.counting import Counting
from fanlight.model.letters import Reason
from fanlight.operators.examiner import Phase
from fanlight.operators.frame import Frame
from fanlight.operators.panes import Moment
from fanlight.operators.plan import Plan, plain
from fanlight.operators.taken import Taken
from fanlight.operators.unaligned.joining import Joined, Room, regroup
from fanlight.operators.unaligned.paired import Paired, without_finished, without_pairs
from fanlight.state.store import Address, ChunkStore

COUNTED: dict[str, tuple[str, int]] = {"next": ("int64", 1)}
"""The next position of the pane's key."""
_FURTHEST = 2**61


class KeyCounts:
    """Each key counts its own records; how far it has come is kept for every key that ever came."""

    def __init__(self, room: Room, kind: Counting) -> None:
        self._room = room
        self._kind = kind
        self._cut = Periodic.cut(kind.size, kind.every, 1, None)
        self._counts = Counts(room.plan, room.store)

    def phase(self, frame: Frame, moment: Moment) -> Phase:
        """A window closes, and expires, when the next position of its key reaches its end."""
        full = (frame.windows <= frame.state["next"]) | (moment.expired == EVERY_WINDOW)
        return Phase(full, full, full)

    def retire(self, moment: Moment) -> None:
        """A count is not forgotten before the end: the next record of its key goes on from it."""
        if moment.expired == EVERY_WINDOW:
            self._counts.forget()

    def join(self, taken: Taken, moment: Moment) -> Joined:
        """Give records their positions and let them join the windows over these."""
        room = self._room
        live = room.buckets.fetch(NO_WINDOW)
        keys, counts = self._counts.read()
        sides = zip(keys, live.keys, taken.keys(room.plan), strict=True)
        found = encode([pa.concat_arrays(parts) for parts in sides], len(counts) + len(live) + len(taken))
        known, ours, theirs = np.split(found.codes.astype(np.int64), [len(counts), len(counts) + len(live)])
        following = np.ones(found.count, np.int64)
        following[known] = counts
        taken, theirs, positions = self._positions(taken, theirs, following)
        rows, starts, ends = self._cut.windows_of(positions)
        still_open = ends > following[theirs[rows]]
        room.accounting.missed_windows += int(np.count_nonzero(~still_open))
        rows, starts, ends = rows[still_open], starts[still_open], ends[still_open]
        dead = without_pairs(rows, len(taken))
        taken, theirs, positions = room.bury(taken, dead, Reason.EXPIRED), theirs[~dead], positions[~dead]
        rows = (np.cumsum(~dead) - 1)[rows]
        np.maximum.at(following, theirs, positions + 1)
        self._counts.write(found, following)
        pairs = Paired(rows, starts, ends)
        taken, theirs, pairs, live, ours = without_finished(room, taken, theirs, pairs, live, ours)
        live.state["next"] = following[ours]
        return self._join(taken, theirs, pairs, live, ours, following, found, moment)

    def _positions(self, taken: Taken, codes: Ints, following: Ints) -> tuple[Taken, Ints, Ints]:
        """The position of each record; those without a usable one are buried."""
        if self._kind.by is None:
            return taken, codes, following[codes] + places_within(codes)
        column = plain(taken.bundle.batch.column(self._kind.by)).cast(pa.int64())
        missing = np.asarray(column.is_null())
        taken = self._room.bury(taken, missing, Reason.NULL_TIME)
        positions, codes = column.drop_null().to_numpy(), codes[~missing]
        unusable = (positions < 1) | (positions > _FURTHEST)
        taken = self._room.bury(taken, unusable, Reason.TIME_OUT_OF_RANGE)
        return taken, codes[~unusable], positions[~unusable]

    def _join(
        self,
        taken: Taken,
        theirs: Ints,
        pairs: Paired,
        live: Frame,
        ours: Ints,
        following: Ints,
        found: KeyCodes,
        moment: Moment,
    ) -> Joined:
        """Windows that a key has passed without a record in them are examined too."""
        room = self._room
        regrouping = pairs.gathered(theirs, live, ours)
        came = np.zeros(len(regrouping.ends), np.bool_)
        came[regrouping.came] = True
        passed = ~came[regrouping.owners] & (live.windows <= following[ours])
        joined = regroup(
            room, live.where(~passed), taken, room.bringing(taken, pairs.rows), regrouping.of(~passed), found, moment
        )
        joined.frame.state["next"] = following[regrouping.codes[came]]
        if not passed.any():
            return joined
        frame = room.examiner.shape.join([joined.frame, live.where(passed)])
        touched = np.concatenate([joined.touched, np.zeros(np.count_nonzero(passed), np.bool_)])
        return Joined(joined.taken, frame, touched, joined.replaced)


class Counts:
    """The next position of every key, in one chunk."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self._store = store
        self._schema = pa.schema([*plan.key_fields, pa.field("next", pa.int64())])
        self._address = Address("counts", 0, 0)

    def read(self) -> tuple[list[pa.Array], Ints]:
        """The keys that have come, and the next position of each."""
        if self._address not in self._store.list("counts"):
            columns = [pa.array([], field.type) for field in self._schema]
        else:
            columns = self._store.get(self._address).columns
        return columns[:-1], columns[-1].to_numpy()

    def forget(self) -> None:
        """No key has come."""
        self._store.delete(self._address)

    def write(self, found: KeyCodes, following: Ints) -> None:
        """Keep the next position of each key."""
        keys = found.take(np.arange(found.count))
        self._store.put(self._address, pa.record_batch([*keys, pa.array(following)], schema=self._schema))
