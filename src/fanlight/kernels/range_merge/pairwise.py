"""Ranges merged with `combine` alone, for reducers that cannot scan.

They are merged row by row, or height by height as in `Scans`, whichever takes fewer merges. Left always comes before
right, so a `combine` that depends on order sees the order of the rows.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from fanlight.errors import EngineError
from fanlight.kernels.grouping.columnar import concatenated
from fanlight.kernels.range_merge.scanning import Scanning
from fanlight.kernels.range_merge.spans import ALONE

if TYPE_CHECKING:
    from fanlight.kernels.grouping.groups import Column, Ints
    from fanlight.kernels.range_merge.spans import Spans
    from fanlight.kernels.reducer import Reducer

_ROOM = 1 << 20
"""How many rows are merged at once where ranges are merged row by row."""


def merged_ranges(reducer: Reducer, columns: list[Column], spans: Spans) -> list[Column]:
    """The partials of each range; a reducer that is `Scanning` merges them its own way."""
    return reducer.scan(columns, spans) if isinstance(reducer, Scanning) else _combined(reducer, columns, spans)


def _combined(reducer: Reducer, columns: list[Column], spans: Spans) -> list[Column]:
    """The partials of each range, pair by pair.

    Blocks also merge rows that are in no common range. If such a merge fails, because a user's state would not fit its
    type, the ranges are merged row by row: then only rows that are in one range can fail.
    """
    climbs = spans.parts[-1].height if spans.parts else 0
    if int(spans.lengths.sum()) <= spans.rows * climbs + len(spans):
        return merged_by_rows(reducer, columns, spans)
    try:
        return _height_by_height(reducer, columns, spans)
    except EngineError:
        return merged_by_rows(reducer, columns, spans)


def merged_by_rows(reducer: Reducer, columns: list[Column], spans: Spans) -> list[Column]:
    """The partials of each range, merged from every row it holds."""
    ends = np.cumsum(spans.lengths)
    cuts = np.unique(np.append(np.searchsorted(ends, np.arange(_ROOM, int(ends[-1]), _ROOM)), [0, len(spans)]))
    pieces = [_merged(reducer, columns, spans, np.arange(start, end)) for start, end in pairwise(cuts.tolist())]
    return _joined(pieces)


def _merged(reducer: Reducer, columns: list[Column], spans: Spans, places: Ints) -> list[Column]:
    rows, _ = spans.spread(places)
    return reducer.merge(_taken(columns, rows), spans.groups(places))


def _height_by_height(reducer: Reducer, columns: list[Column], spans: Spans) -> list[Column]:
    places, pieces = [], []
    if len(spans.few):
        places.append(spans.few)
        pieces.append(_merged(reducer, columns, spans, spans.few))
    prefix = suffix = columns
    height = 0
    for part in spans.parts:
        if part.height == ALONE:
            piece = _taken(columns, part.first)
        else:
            for step in range(height, part.height):
                prefix, suffix = _climbed(reducer, prefix, suffix, spans.rows, step)
            height = part.height
            piece = reducer.combine(_taken(suffix, part.first), _taken(prefix, part.last))
        places.append(part.places)
        pieces.append(piece)
    order = np.empty(len(spans), np.int64)
    order[np.concatenate(places)] = np.arange(len(spans))
    return _taken(_joined(pieces), order)


def _climbed(
    reducer: Reducer, prefix: list[Column], suffix: list[Column], rows: int, height: int
) -> tuple[list[Column], list[Column]]:
    """Scans of blocks of 2**height rows, merged into scans of blocks twice as long."""
    every = np.arange(rows)
    block = every >> height
    right = every[block & 1 == 1]
    before = (right >> height << height) - 1
    after = (block + 1) << height
    left = every[(block & 1 == 0) & (after < rows)]
    after = after[left]
    return (
        _put(prefix, right, reducer.combine(_taken(prefix, before), _taken(prefix, right))),
        _put(suffix, left, reducer.combine(_taken(suffix, left), _taken(suffix, after))),
    )


def _taken(columns: list[Column], rows: Ints) -> list[Column]:
    return [column.take(pa.array(rows)) if isinstance(column, pa.Array) else column[rows] for column in columns]


def _put(columns: list[Column], rows: Ints, changed: list[Column]) -> list[Column]:
    source = np.arange(len(columns[0]))
    source[rows] = len(source) + np.arange(len(rows))
    places = pa.array(source)
    put: list[Column] = []
    for column, new in zip(columns, changed, strict=True):
        if isinstance(column, pa.Array):
            put.append(pa.concat_arrays([column, new]).take(places))
        else:
            put.append(column.copy())
            put[-1][rows] = new
    return put


def _joined(pieces: list[list[Column]]) -> list[Column]:
    return [concatenated(list(same)) for same in zip(*pieces, strict=True)]
