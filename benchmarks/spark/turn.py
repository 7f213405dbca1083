"""`python -m benchmarks.spark.turn NAME ROOM`: one case in a process and a session of its own; prints it as JSON.

session ─► rehearsal ─► play ─► the batches that count
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

import fanlight as fl
from benchmarks.figures import Scale
from benchmarks.spark.cases import NAMES, case
from benchmarks.spark.contestants import Contestant
from benchmarks.spark.load import Load
from benchmarks.spark.play import play, rehearse
from benchmarks.spark.session import session
from benchmarks.spark.turns import Found

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK = Scale(rows=200_000, rounds=1)

_SHORTEST, _LONGEST = 25, 45
"""Seconds of a rehearsal: fewer than contests have, because here all sides pay alike."""
_COUNTED = 3
"""Batches that must count. Of sessions one does in a play, so they are played again."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spark.turn", description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("room", type=Path, help="an empty folder, or one that has the files already")
    parser.add_argument("--quick", action="store_true", help="few rows, and a rehearsal of one play")
    chosen = parser.parse_args()
    contestant = case(chosen.name, QUICK if chosen.quick else Scale())
    with session(chosen.room) as spark:
        _require_one_package(spark)
        found = _found(spark, contestant, chosen.room, quick=chosen.quick)
    print(json.dumps(found.document()))


def _found(spark: SparkSession, contestant: Contestant, room: Path, *, quick: bool) -> Found:
    if quick:
        play(spark, contestant, room)
    else:
        rehearse(spark, contestant, room, _SHORTEST, _LONGEST)
    load, plays = Load(), []
    with load:
        while sum(len(played.batches) - played.warm for played in plays) < _COUNTED:
            plays.append(play(spark, contestant, room))
    counted = [batch for played in plays for batch in played.batches[played.warm :]]
    return Found(
        tuple(batch.milliseconds for batch in counted),
        sum(batch.rows_out for batch in counted),
        plays[-1].state,
        load.others,
    )


def _require_one_package(spark: SparkSession) -> None:
    """Stop if Spark's Python workers have another package than this process."""
    (theirs,) = spark.sparkContext.parallelize([0], 1).map(lambda _: _package()).collect()
    if theirs != _package():
        raise SystemExit(f"Spark's workers import {theirs}, and this process {_package()}. No figure stands on that.")


def _package() -> str:
    return str(fl.__file__)


if __name__ == "__main__":
    main()
