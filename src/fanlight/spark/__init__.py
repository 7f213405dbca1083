"""The binding to Spark Structured Streaming: the only room that imports pyspark.

    rows ─ envelope ─► chunks by shard ─ shuffle ─► ShardProcessor ─► firings as chunks ─ opened ─► rows

Spark moves, stores and recovers chunks; what they mean is decided by `ShardOperator`, as in every other engine.
"""
