"""Where a result goes: its rows, its dead letters and its accounting, batch by batch.

    Delivery ─► Batch ─┬─► DatabaseSink ─► SqliteDatabase, on Spark JDBC     one transaction a batch
                       ├─► JsonLinesSink    JSON lines                       one append a batch
                       ├─► UserSink         a user's own `BatchSink`         one `take` a batch
                       └─► FunctionSink     a user's function                one call a batch
    Delivery ────────────► ParquetSink      parquet, on Spark by executors   one subfolder a batch

A sink says what it guarantees (`guarantee`). All but a function keep a `Ledger`: a batch that is repeated after a
crash changes nothing, and one that does not follow what the place holds is refused. `BatchSink`, `Batch` and
`BatchNote` are public: with them a user writes a sink (docs/sinks.md).
"""

from fanlight.sinks.batch import Batch, BatchNote
from fanlight.sinks.user_sink import BatchSink

__all__ = ["Batch", "BatchNote", "BatchSink"]
