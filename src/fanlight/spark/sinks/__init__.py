"""Where a result goes: its rows, its dead letters and its accounting, batch by batch.

    Delivery ─► Batch ─┬─► DatabaseSink ─► SqliteDatabase │ JdbcDatabase     one transaction a batch
                       ├─► JsonLinesSink    JSON lines                       one append a batch
                       ├─► UserSink         a user's own `BatchSink`         one `take` a batch
                       └─► FunctionSink     a user's function                one call a batch
    Delivery ────────────► ParquetSink      parquet, by the executors        one subfolder a batch

A sink says what it guarantees (`guarantee`). All but a function keep a `Ledger`: a batch that Spark repeats after a
crash changes nothing, and one that does not follow what the place holds is refused. `BatchSink`, `Batch` and
`BatchNote` are public: with them a user writes a sink (docs/sinks.md).
"""

from fanlight.spark.sinks.batch import Batch, BatchNote
from fanlight.spark.sinks.user_sink import BatchSink

__all__ = ["Batch", "BatchNote", "BatchSink"]
