"""How often panes of closed windows have fired; stored only if it was not once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fanlight.kernels.grouping.groups import Ints, locate, runs
from fanlight.operators.window.plan import Plan
from fanlight.state.store import Address, ChunkStore

_SPACE = "panes"


class FiringCounts:
    """A chunk for each window with panes that were corrected: their keys, and how often they have fired."""

    def __init__(self, plan: Plan, store: ChunkStore) -> None:
        self._store = store
        self._schema = pa.schema([*plan.key_fields, pa.field("fired", pa.int64(), nullable=False)])
        self._windows = {address.part for address in store.list(_SPACE)}

    def of(self, windows: Ints, keys: list[pa.Array], otherwise: Ints) -> Ints:
        """How often these panes have fired; `otherwise` for panes without a stored count."""
        known, columns, fired = self._read(windows)
        rows = locate(known, columns, windows, keys)
        return np.where(rows >= 0, fired[rows], otherwise) if len(known) else otherwise

    def note(self, windows: Ints, keys: list[pa.Array], fired: Ints) -> None:
        """Store how often these panes (ordered by window) have fired."""
        known, columns, before = self._read(windows)
        stays = locate(windows, keys, known, columns) < 0
        kept = pa.array(stays)
        owners = np.concatenate([known[stays], windows])
        both = [pa.concat_arrays([old.filter(kept), new]) for old, new in zip(columns, keys, strict=True)]
        chunk = pa.record_batch([*both, pa.array(np.concatenate([before[stays], fired]))], schema=self._schema)
        order = np.argsort(owners, kind="stable")
        chunk, bounds = chunk.take(pa.array(order)), runs(owners[order])
        for window, start, end in zip(owners[order][bounds[:-1]].tolist(), bounds[:-1], bounds[1:], strict=True):
            self._store.put(Address(_SPACE, window, 0), chunk.slice(start, end - start))
            self._windows.add(window)

    def retire(self, through: int) -> None:
        """Delete the windows up to `through`."""
        for window in [window for window in self._windows if window <= through]:
            self._windows.remove(window)
            self._store.delete(Address(_SPACE, window, 0))

    def _read(self, windows: Ints) -> tuple[Ints, list[pa.Array], Ints]:
        """The stored counts of these windows: window, keys, count."""
        noted = sorted(self._windows & set(windows[runs(windows)[:-1]].tolist()))
        chunks = [self._store.get(Address(_SPACE, window, 0)) for window in noted]
        table = pa.Table.from_batches(chunks, schema=self._schema).combine_chunks()
        *keys, fired = (column.combine_chunks() for column in table.columns)
        owners = np.repeat(np.array(noted, np.int64), [len(chunk) for chunk in chunks])
        return owners, keys, fired.to_numpy()
