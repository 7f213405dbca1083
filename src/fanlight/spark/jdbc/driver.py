"""The driver of a `jdbc:` URL: the one in the session's jars that says it takes it."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JJavaError


def require_driver(jvm: Any, url: str) -> None:
    """See that `DriverManager` knows a driver for the URL, if any jar has one.

    A jar that came by `spark.jars` is known to Spark's class loader only, which `DriverManager` does not ask. Spark has
    a registry for such drivers, by the names of their classes; the jars say these (`META-INF/services`).
    """
    try:
        jvm.java.sql.DriverManager.getDriver(url)
    except Py4JJavaError:
        loader = jvm.org.apache.spark.util.Utils.getContextOrSparkClassLoader()
        found = jvm.java.util.ServiceLoader.load(jvm.java.lang.Class.forName("java.sql.Driver"), loader).iterator()
        while found.hasNext():
            name = _name_if_taken(found, url)
            if name is not None:
                register(jvm, name)


def _name_if_taken(found: Any, url: str) -> str | None:
    """The class of the next driver, if it takes the URL; one that cannot even be loaded is none."""
    try:
        driver = found.next()
        return str(driver.getClass().getName()) if driver.acceptsURL(url) else None
    except Py4JJavaError:
        return None


def register(jvm: Any, name: str) -> None:
    """Make a driver known by the name of its class."""
    jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(name)
