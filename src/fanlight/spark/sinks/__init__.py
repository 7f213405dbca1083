"""Where a result goes: its rows, its dead letters and its accounting, batch by batch.

    leaving ─► Batch ─┬─► DatabaseSink ─► SqliteDatabase │ JdbcDatabase     one transaction a batch
                      ├─► LinesSink        JSON lines                       one append a batch
                      └─► CallSink         a user's function                one call a batch
    leaving ────────────► FolderSink       parquet, by the executors        one subfolder a batch

A sink says what it guarantees (`guarantee`). All but a function keep a `Ledger`: a batch that Spark repeats after a
crash changes nothing, and one that does not follow what the place holds is refused.
"""
