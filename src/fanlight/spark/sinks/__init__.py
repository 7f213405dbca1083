"""Where a result goes: its rows, its dead letters and its accounting, batch by batch.

    leaving ─► Batch ─┬─► DatabaseSink ─► SqliteDatabase │ JdbcDatabase     one transaction a batch
                      ├─► LinesSink        JSON lines                       one append a batch
                      └─► CallSink         a user's function                one call a batch
    leaving ────────────► FolderSink       parquet, by the executors        one subfolder a batch

A sink says what it guarantees (`guarantee`), and all but the last but one know which batches they hold, so that a batch
that Spark repeats after a crash changes nothing.
"""
