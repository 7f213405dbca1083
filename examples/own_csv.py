"""A CSV file of yours: a total of each window, and a picture of how it came about.

    python examples/own_csv.py orders.csv --time ts --key product --value price --picture orders.svg

The rows are taken one after the other, as they stand in the file: `--delay` is how far behind the latest one a row may
be before its window has closed. Rows that come later than that are listed too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

import fanlight as fl
from fanlight.viz import timeline

_DRAWN = 60
"""How many rows of a file are drawn; more would be too small to read."""


def main() -> None:
    """Read the file, print the results, draw the picture."""
    options = _options()
    rows = csv.read_csv(options.file)
    bundles = [rows.slice(place, 1) for place in range(len(rows))]
    stream = fl.stream(bundles, time=options.time, delay=options.delay)
    if options.key:
        stream = stream.key_by(*options.key)
    totals = stream.window(fl.tumbling(options.window)).agg(n=fl.count(), total=fl.sum(options.value))
    for row in totals.table().to_pylist():
        window = f"{row['window']['start']:%Y-%m-%d %H:%M:%S} to {row['window']['end']:%H:%M:%S}"
        print(window, *(row[key] for key in options.key), f"n={row['n']} total={row['total']}", sep="  ")
    unused: pa.Table = totals.dead_letters
    for letter in unused.to_pylist():
        print(f"not counted, {letter['reason']}: {', '.join(map(str, letter['record'].values()))}")
    picture = timeline(totals, bundles[:_DRAWN], title=f"{options.file.name}, {options.window} at a time")
    options.picture.write_text(picture, encoding="utf-8")
    print(f"{options.picture} shows {'it' if len(rows) <= _DRAWN else f'the first {_DRAWN} rows'}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Windows over a CSV file, and a picture of them.")
    parser.add_argument("file", type=Path)
    parser.add_argument("--time", required=True, help="the column of times, as in 2026-03-01T12:00:10Z")
    parser.add_argument("--key", action="append", default=[], help="a column whose values are counted apart")
    parser.add_argument("--value", required=True, help="the column that is summed up")
    parser.add_argument("--window", default="5 minutes", help="how long a window is")
    parser.add_argument("--delay", default="1 minute", help="how far behind the latest row a row may be")
    parser.add_argument("--picture", type=Path, default=Path("windows.svg"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
