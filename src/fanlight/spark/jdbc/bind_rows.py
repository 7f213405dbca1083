"""Rows for JDBC statements: a call from Python to the JVM for each value would cost more than all the rest.

So the rows travel as one Arrow stream, and a few lines of Java, compiled by the compiler that Spark carries for its own
plans, bind and execute them where they arrive.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import pyarrow as pa

from fanlight.sinks.as_text import as_json

_VARCHAR, _BIGINT, _DOUBLE, _DECIMAL, _BOOLEAN, _DATE, _TIMESTAMP = 12, -5, 8, 3, 16, 91, 93
VARBINARY, BLOB = -3, 2004
"""The numbers of `java.sql.Types`."""

_SCRIPT = """
org.apache.arrow.memory.RootAllocator allocator = new org.apache.arrow.memory.RootAllocator();
org.apache.arrow.vector.ipc.ArrowStreamReader reader =
    new org.apache.arrow.vector.ipc.ArrowStreamReader(new java.io.ByteArrayInputStream(stream), allocator);
java.util.Calendar utc = java.util.Calendar.getInstance(java.util.TimeZone.getTimeZone("UTC"));
try {
    while (reader.loadNextBatch()) {
        java.util.List columns = reader.getVectorSchemaRoot().getFieldVectors();
        int rows = reader.getVectorSchemaRoot().getRowCount();
        for (int row = 0; row < rows; row++) {
            for (int place = 1; place <= types.length; place++) {
                int type = types[place - 1];
                Object value = ((org.apache.arrow.vector.FieldVector) columns.get(place - 1)).getObject(row);
                if (value == null) {
                    statement.setNull(place, type);
                } else if (type == java.sql.Types.TIMESTAMP) {
                    long micros = ((Long) value).longValue();
                    java.sql.Timestamp moment = new java.sql.Timestamp(Math.floorDiv(micros, 1000000L) * 1000L);
                    moment.setNanos((int) Math.floorMod(micros, 1000000L) * 1000);
                    statement.setTimestamp(place, moment, utc);
                } else if (type == java.sql.Types.DATE) {
                    java.time.LocalDate day = java.time.LocalDate.ofEpochDay(((Integer) value).longValue());
                    statement.setDate(place, java.sql.Date.valueOf(day));
                } else if (type == java.sql.Types.VARCHAR) {
                    statement.setString(place, value.toString());
                } else if (value instanceof byte[]) {
                    statement.setBytes(place, (byte[]) value);
                } else {
                    statement.setObject(place, value);
                }
            }
            statement.addBatch();
        }
        statement.executeBatch();
    }
} finally {
    reader.close();
    allocator.close();
}
"""


def bound(rows: pa.Table, binary: int) -> tuple[pa.Table, list[int]]:
    """The rows as the script takes them, and the JDBC type of each column; that of binary differs by database."""
    pairs = [_bound(column, binary) for column in rows.columns]
    return pa.table([column for column, _ in pairs], names=rows.column_names), [kind for _, kind in pairs]


def _bound(column: pa.ChunkedArray, binary: int) -> tuple[pa.ChunkedArray | pa.Array, int]:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", kind.tz)).cast(pa.int64()), _TIMESTAMP
    if pa.types.is_duration(kind):
        return column.cast(pa.duration("us")).cast(pa.int64()), _BIGINT
    if pa.types.is_date(kind):
        return column.cast(pa.date32()).cast(pa.int32()), _DATE
    if pa.types.is_boolean(kind):
        return column, _BOOLEAN
    if pa.types.is_integer(kind):
        return column.cast(pa.int64()), _BIGINT
    if pa.types.is_floating(kind):
        return column.cast(pa.float64()), _DOUBLE
    if pa.types.is_decimal(kind):
        return column, _DECIMAL
    if pa.types.is_binary(kind):
        return column, binary
    if pa.types.is_nested(kind):
        return pa.array(as_json(column), pa.string()), _VARCHAR
    return column.cast(pa.string()), _VARCHAR


@lru_cache(maxsize=1)
def binder(gateway: Any) -> Binder:
    """The compiled script of this JVM."""
    return Binder(gateway)


class Binder:
    """The script, compiled once."""

    def __init__(self, gateway: Any) -> None:
        self._gateway = gateway
        classes = gateway.jvm.java.lang.Class
        parameters = [("statement", "java.sql.PreparedStatement"), ("stream", "[B"), ("types", "[I")]
        names = self._array(gateway.jvm.java.lang.String, [name for name, _ in parameters])
        kinds = self._array(classes, [classes.forName(kind) for _, kind in parameters])
        self._script = gateway.jvm.org.codehaus.janino.ScriptEvaluator()
        self._script.setParameters(names, kinds)
        self._script.setThrownExceptions(self._array(classes, [classes.forName("java.lang.Exception")]))
        self._script.cook(_SCRIPT)

    def run(self, statement: Any, rows: pa.Table, types: list[int], at_once: int) -> None:
        """Execute the prepared statement with each row, `at_once` of them in one JDBC batch."""
        stream = pa.BufferOutputStream()
        with pa.ipc.new_stream(stream, rows.schema) as writer:
            writer.write_table(rows.combine_chunks(), max_chunksize=at_once)
        codes = self._array(self._gateway.jvm.int, types)
        values = [statement, bytearray(stream.getvalue()), codes]
        self._script.evaluate(self._array(self._gateway.jvm.java.lang.Object, values))

    def _array(self, kind: Any, values: list[Any]) -> Any:
        array = self._gateway.new_array(kind, len(values))
        for place, value in enumerate(values):
            array[place] = value
        return array
