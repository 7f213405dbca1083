"""Rows that a query has written to parquet files, by batch.

Spark's sink lists its files; `write_to` has a folder for each batch. Each file says how many rows it has.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq

_LIST = "_spark_metadata"


def rows_by_batch(folder: Path) -> Counter[int]:
    """How many rows each batch has written; 0 for one that is not listed."""
    written: Counter[int] = Counter()
    for path in folder.glob("batch=*/*.parquet"):
        written[int(path.parent.name.removeprefix("batch="))] += pq.read_metadata(path).num_rows
    known: set[str] = set()
    for number, path in sorted((int(path.stem), path) for path in (folder / _LIST).glob("[0-9]*")):
        entries = map(json.loads, path.read_text(encoding="utf-8").splitlines()[1:])  # the first line has a version
        new = {unquote(urlparse(entry["path"]).path) for entry in entries} - known  # every tenth list has all before it
        written[number] = sum(pq.read_metadata(one).num_rows for one in new)
        known |= new
    return written
