"""Ship the package to the machines of a cluster that do not have it.

Spark hands files that were added to a session to the workers of its queries, with two exceptions: the Python that
opens a stateful processor before the first batch, and the streaming queries of a Spark Connect session. So after
`ship`, what is sent to Spark brings the package along, and opens it where it is missing.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import io
import os
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessor, StatefulProcessorHandle

from fanlight.errors import EngineError
from fanlight.spark.column_names import by_place, is_plain
from fanlight.spark.private_folder import kept_folder, remove_at_exit, remove_leftovers

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

F = TypeVar("F", bound=Callable[..., Any])

_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time a zip file knows: the same code gives the same bytes."""

_luggage: list[bytes] = []
"""The archive of the package, if it was shipped from this process."""


class Startable(Protocol):
    """A processor whose state is declared by somebody else."""

    def start(self, chunks: MapState) -> None:
        """Begin the work of a partition in one micro-batch."""


def ship(spark: SparkSession) -> Path:
    """Send this package to the executors of a session, classic or Connect; the archive that was sent.

    Call it once, after the session was made and before pipelines are declared. The executors need Python with pyarrow,
    pandas and numpy, as PySpark's own Arrow functions do. Sending the same code again changes nothing. The archive
    stays in a private folder as long as this process.
    """
    data = archive()
    path = keep_archive(f"fanlight-{hashlib.sha256(data).hexdigest()[:16]}.zip", data)
    spark.addArtifacts(str(path), pyfile=True)
    bring_along(data)
    return path


def bring_along(data: bytes | None) -> None:
    """Set the archive of the package that everything sent from now on carries; None for no archive.

    `ship` says so with the archive it has sent.
    """
    _luggage[:] = [] if data is None else [data]


def archive() -> bytes:
    """The package as the bytes of a zip file that Python can import from."""
    root = Path(__file__).parents[1]
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


def keep_archive(name: str, data: bytes) -> Path:
    """Write the archive to a file that lives as long as this process: executors may ask for it at any time."""
    remove_leftovers()
    folder = f"shipped-{os.getpid()}"
    with kept_folder(folder, os.getpid()) as own:
        if own.read(name) != data:
            own.write(name, data)
        remove_at_exit(folder)
        return own.path / name


def portable(processor: Startable, **maps: tuple[StructType, StructType]) -> StatefulProcessor:
    """The same processor, in a form that a Python without this package can hold and ask which state it keeps.

    `maps` names its map states, with the types of their keys and values: before the first batch Spark opens a processor
    on the driver's side only to have them declared. The processor itself is opened with the first rows, so that a query
    starts sooner: nothing of Fanlight is imported to declare its state.
    """
    opened = _packed(processor)

    class Portable(StatefulProcessor):
        processor: Any = None

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.states = {name: handle.getMapState(name, *kinds) for name, kinds in maps.items()}

        def started(self) -> Any:
            if self.processor is None:
                self.processor = opened()
                self.processor.start(**self.states)
            return self.processor

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803 -- PySpark's
            yield from self.started().handleInputRows(key, rows, timerValues)

    return Portable()


def portable_function(function: F) -> F:
    """The same function of one or two arguments, in a form that a Python without this package can open."""
    opened = _packed(function)

    def of_one(argument: Any) -> Any:
        return opened()(argument)

    def of_two(first: Any, second: Any) -> Any:
        return opened()(first, second)

    return cast("F", of_one if len(inspect.signature(function).parameters) == 1 else of_two)


def through(frame: DataFrame, function: Callable[[Any], Any], schema: StructType | str) -> DataFrame:
    """Apply `function` to the Arrow batches of a frame, on executors that may not have this package."""
    names = frame.columns
    if is_plain(names):
        return frame.mapInArrow(portable_function(function), schema)

    def named(batches: Iterator[pa.RecordBatch]) -> Any:
        """Spark looks columns up by their names, so they go by their places."""
        return function(batch.rename_columns(names) for batch in batches)

    return by_place(frame).mapInArrow(portable_function(named), schema)


@cache
def settle() -> None:
    """Exempt everything imported so far from Python's garbage collector, once in each process.

    A worker of Spark collects garbage after every task. With Arrow, pandas and this package loaded that took 40 ms of a
    core, whatever the task was.
    """
    gc.freeze()


def _packed(thing: Any) -> Callable[[], Any]:
    """A function that opens `thing` in another process, once.

    A function made inside a function is found under no name, so Spark sends it whole. It may use nothing of this
    module: only what it holds, and what it imports itself.
    """
    content: bytes = cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]
    luggage = list(_luggage)
    found: list[Any] = []

    def opened() -> Any:
        if found:
            return found[0]
        try:
            found.append(cloudpickle.loads(content))
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] != "fanlight":
                raise
            if not luggage:
                told = "This Python has no Fanlight. Call ship(spark) before a pipeline is declared, or install it."
                raise ModuleNotFoundError(told, name="fanlight") from missing
            arrive(luggage[0])
            found.append(cloudpickle.loads(content))
        from fanlight.spark.shipping import settle

        settle()
        return found[0]

    def arrive(data: bytes) -> None:
        """Import from an archive in memory: nothing is left on the disk of a worker."""
        import importlib.abc
        import importlib.util
        import io
        import sys
        import zipfile

        package = zipfile.ZipFile(io.BytesIO(data))
        names = frozenset(package.namelist())

        class Arrived(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
            def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
                return importlib.util.spec_from_loader(name, self) if self.file(name) in names else None

            def file(self, name: str) -> str:
                path = name.replace(".", "/")
                return f"{path}/__init__.py" if f"{path}/__init__.py" in names else f"{path}.py"

            def get_source(self, name: str) -> str:
                return package.read(self.file(name)).decode()

            def is_package(self, name: str) -> bool:
                return self.file(name).endswith("/__init__.py")

        sys.meta_path.append(Arrived())

    return opened
