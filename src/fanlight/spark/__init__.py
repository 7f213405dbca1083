"""The engine on Spark Structured Streaming: the only package that imports pyspark.

    rows ─ packer ─► chunks by shard ─ shuffle ─► ShardProcessor ─► firings as chunks ─ opened ─► rows

Spark moves, stores and recovers chunks; what they mean is decided by `Shard`, as in every other engine.
"""

from fanlight.errors import MissingExtra

try:
    import pyspark  # noqa: F401 -- whether it is there
except ModuleNotFoundError as problem:
    raise MissingExtra("fanlight.spark", "pyspark", "spark") from problem
