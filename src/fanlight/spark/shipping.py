"""Bringing the package to the machines of a cluster that do not have it."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessor, StatefulProcessorHandle

from fanlight.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time a zip file knows: the same code gives the same bytes."""


class Startable(Protocol):
    """A processor that takes its state from whoever has declared it."""

    def start(self, handle: StatefulProcessorHandle, chunks: MapState) -> None:
        """Begin the work of a partition in one micro-batch."""


def ship(spark: SparkSession) -> Path:
    """Send this package to the executors of a session, classic or Connect; the archive that was sent.

    Call it once, after the session was made and before the first query. The executors need Python with pyarrow, pandas
    and numpy, as PySpark's own Arrow functions do. Sending the same code again changes nothing.
    """
    data = archive()
    path = Path(tempfile.gettempdir(), f"fanlight-{hashlib.sha256(data).hexdigest()[:16]}.zip")
    if not path.exists() or path.read_bytes() != data:
        draft = path.with_suffix(f".{os.getpid()}")
        draft.write_bytes(data)
        draft.replace(path)
    spark.addArtifacts(str(path), pyfile=True)
    return path


def archive() -> bytes:
    """The package as the bytes of a zip file that Python can import from."""
    root = Path(__file__).parent.parent
    sources = sorted(root.rglob("*.py"))
    if not sources:
        raise EngineError(
            f"ship: {root} holds no source files to send; Fanlight itself was imported from an archive. "
            "Install it from a wheel, or install it on the executors."
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for source in sources:
            name = source.relative_to(root.parent).as_posix()
            package.writestr(zipfile.ZipInfo(name, _EPOCH), source.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def portable(processor: Startable, **maps: tuple[str, str]) -> StatefulProcessor:
    """A processor in a form that a Python without this package can hold and ask which state it keeps.

    Before the first batch of a query Spark opens the processor on the driver's side, only to have its state declared,
    and gives that Python nothing that was sent to the executors. So the processor travels as bytes, which are opened
    with the first rows; `maps` names its map states with the types of their keys and values. A query also starts
    sooner, because nothing of Fanlight is imported to declare them.
    """
    content: bytes = cloudpickle.dumps(processor)  # type: ignore[no-untyped-call]

    # Made here, and so found under no module: Spark sends it whole, not by its name.
    class Portable(StatefulProcessor):
        processor: Any = None

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.states = {name: handle.getMapState(name, *kinds) for name, kinds in maps.items()}

        def opened(self) -> Any:
            if self.processor is None:
                self.processor = cloudpickle.loads(content)
                self.processor.start(self.handle, **self.states)
            return self.processor

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803 -- PySpark's
            yield from self.opened().handleInputRows(key, rows, timerValues)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
            yield from self.opened().handleExpiredTimer(key, timerValues, expiredTimerInfo)

    return Portable()
