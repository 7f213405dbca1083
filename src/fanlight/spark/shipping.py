"""Ship the package to the machines of a cluster that do not have it.

Spark hands files that were added to a session to the workers of its queries, with two exceptions: the Python that
opens a stateful processor before the first batch, and the streaming queries of a Spark Connect session. So after
`ship`, what is sent to Spark brings the package along, and opens it where it is missing.
"""

from __future__ import annotations

import ctypes
import gc
import hashlib
import inspect
import io
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
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

_REMEDY = (
    "Call fanlight.spark.shipping.ship(spark) once, before pipelines are declared; or submit with --py-files "
    "fanlight.zip, which `fanlight archive fanlight.zip` writes; or install it there; or, if another Python of that "
    "machine has it, set PYSPARK_PYTHON to that one before the session starts."
)
"""What to do where a worker has no Fanlight."""

_luggage: list[bytes] = []
"""The package, if it was shipped from this process: an archive that is compressed as a whole, not file by file.

What is sent must stay below a megabyte: Spark broadcasts more, and the Python that opens a stateful processor before
the first batch is handed no broadcasts.
"""


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
    _luggage[:] = [] if data is None else [zlib.compress(_stored(data), 9)]


def archive() -> bytes:
    """The package as the bytes of a zip file that Python can import from.

    As a file it is what `spark-submit --py-files` takes. The package may come from such an archive itself.
    """
    sources = dict(_sources(resources.files("fanlight"), "fanlight"))
    if not sources:
        raise EngineError(
            "ship: the package that this process imported holds no source files to send. "
            "Install Fanlight on the executors, or here from its sources, with pip."
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as package:
        for name, source in sources.items():
            package.writestr(zipfile.ZipInfo(name, _EPOCH), source, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _stored(data: bytes) -> bytes:
    """The same archive with its files as they are: together they compress to two thirds of what each does alone."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as package, zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as stored:
        for name in package.namelist():
            stored.writestr(zipfile.ZipInfo(name, _EPOCH), package.read(name))
    return buffer.getvalue()


def _sources(folder: Traversable, path: str) -> Iterator[tuple[str, bytes]]:
    """The sources of a folder, be it on a disk or in an archive, in the order of their names."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _sources(entry, f"{path}/{entry.name}")
        elif entry.name.endswith(".py"):
            yield f"{path}/{entry.name}", entry.read_bytes()


def keep_archive(name: str, data: bytes) -> Path:
    """Write the archive to a file that lives as long as this process: executors may ask for it at any time."""
    remove_leftovers()
    folder = f"shipped-{os.getpid()}"
    with kept_folder(folder, os.getpid()) as own:
        if own.read(name) != data:
            own.write(name, data)
        remove_at_exit(folder)
        return own.path / name


def absence(problem: Exception) -> str | None:
    """What a worker without this package said, alone, if that is the problem."""
    said = re.search(r"The Python of this worker, .*", str(problem))
    return None if said is None else said[0]


def portable(processor: Startable, **maps: tuple[StructType, StructType]) -> StatefulProcessor:
    """The same processor, in a form that a Python without this package can hold and ask which state it keeps.

    `maps` names its map states, with the types of their keys and values: before the first batch Spark opens a processor
    on the driver's side only to have them declared. The processor itself is opened with the first rows, so that a query
    starts sooner: nothing of Fanlight is imported to declare its state.
    """
    opened = _packed(processor)

    class Portable(StatefulProcessor):
        processor: Any = None
        is_packed = False

        def __setstate__(self, held: dict[str, Any]) -> None:
            """Called where it is opened. The Python that only declares state says so in ten lines: it is not heard."""
            import os
            import sys

            self.__dict__ |= held
            main = getattr(sys.modules.get("__main__"), "__spec__", None)
            if main is not None and main.name == "pyspark.sql.streaming.transform_with_state_driver_worker":
                sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 -- as long as the process

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.states = {name: handle.getMapState(name, *kinds) for name, kinds in maps.items()}

        def started(self) -> Any:
            if self.processor is None:
                self.processor = opened()
                self.processor.start(**self.states)
            return self.processor

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803 -- PySpark's
            yield from self.started().handleInputRows(key, rows, timerValues)

    one = Portable()
    one.is_packed = True  # an object that holds nothing is opened without a word
    return one


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


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""What glibc calls its options."""
_KEPT = 1 << 30
"""The bytes that a worker keeps for the next batch; it gives back what it has used beyond them."""


@cache
def settle() -> None:
    """Make a worker of Spark ready for many batches, once in each process.

    It collects garbage after every task. With Arrow, pandas and this package loaded that took 40 ms of a core, whatever
    the task was: so everything imported so far is exempt. And it gave the memory of large columns back to the system
    with every column, and got it back page by page, which took a third of its time: so it keeps that memory. Only glibc
    can be asked to.
    """
    gc.freeze()
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _KEPT)
        mallopt(_TRIM_THRESHOLD, _KEPT)


def _packed(thing: Any) -> Callable[[], Any]:
    """A function that opens `thing` in another process, once.

    A function made inside a function is found under no name, so Spark sends it whole. It may use nothing of this
    module: only what it holds, and what it imports itself.
    """
    content: bytes = cloudpickle.dumps(thing)  # type: ignore[no-untyped-call]
    luggage = list(_luggage)
    remedy = _REMEDY
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
                import os
                import sys

                os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # PySpark's switch; this worker ends with what it says
                told = f"The Python of this worker, {sys.executable}, has no Fanlight. {remedy}"
                raise ModuleNotFoundError(told, name="fanlight") from None
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
        import zlib

        package = zipfile.ZipFile(io.BytesIO(zlib.decompress(data)))
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
