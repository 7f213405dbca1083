"""The JVM of a classic session: some targets need it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fanlight.errors import SpecError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def require_jvm(session: SparkSession, target: str) -> None:
    """Refuse a target that needs the driver's JVM, on a client without one."""
    if type(session).__module__.startswith("pyspark.sql.connect"):
        raise SpecError(
            f"write_to: {target} is reached through the driver's JVM, which a Spark Connect client cannot touch. "
            "Use a classic session, an SQLite database, files on a path, or a function of (rows, batch)."
        )


def gateway_of(session: SparkSession) -> Any:
    """The gateway to the JVM."""
    return session.sparkContext._gateway  # noqa: SLF001 -- PySpark has no public name for it
