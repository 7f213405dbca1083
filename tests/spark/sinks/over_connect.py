"""A pipeline written over Spark Connect: a program of its own, since a process has one kind of session only.

    python -m tests.spark.sinks.over_connect FOLDER

Reads one file a batch from FOLDER/in, and writes rows to SQLite, dead letters to JSON lines and accounting to parquet;
FOLDER/said.json then holds what was refused, and the query's id.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import fanlight as fl
from fanlight.spark.session import spark_session

from .orders import corrected, streamed


def main() -> None:
    folder = Path(sys.argv[1])
    spark = spark_session(
        remote="local[2]",
        spark_driver_bindAddress="127.0.0.1",
        spark_driver_host="127.0.0.1",
        spark_sql_warehouse_dir=str(folder / "warehouse"),
        spark_ui_enabled="false",
    )
    totals = streamed(spark, folder / "in", corrected)
    said = []
    for target in ("jdbc:derby:never", "file:///never/"):
        try:
            totals.write_to(target, table="totals" if "jdbc" in target else None, checkpoint="never")
        except fl.SpecError as refused:
            said.append(str(refused))
    query = totals.write_to(
        f"sqlite:///{folder}/t.db",
        table="totals",
        dead_letters=folder / "late.jsonl",
        accounting=f"{folder}/counts/",
        checkpoint=folder / "checkpoint",
        available_now=True,
    )
    assert query is not None
    query.awaitTermination()
    (folder / "said.json").write_text(json.dumps({"refused": said, "query": str(query.id)}))
    spark.stop()


if __name__ == "__main__":
    main()
