"""What extensions are written against: windows and operators of your own, without a change to Fanlight.

A kind of window that every key has is a frozen dataclass that derives from `WindowKind` and says how it cuts time:

    @dataclass(frozen=True)
    class Shifts(WindowKind):
        starts: tuple[Duration, ...]

        def slicing(self, semantics: Semantics) -> Slicing:
            return ShiftSlicing(...)

It runs in this process and on Spark, with every trigger, accumulation and aggregate, and its results can be grouped
again (`rewindow`). Its document has its name and its fields, so a checkpoint is refused to another pipeline.
`examples/extending/window_kind.py` is one in full.

Windows that each key has for itself are named by a function: see `fanlight.custom`.

An operator of your own is a spec and what it runs. The spec is a frozen dataclass that derives from `StreamSpec` and
binds itself to the columns of its input; the operator derives from `Operator` and keeps what it knows in the store:

    @dataclass(frozen=True)
    class Sample(StreamSpec):
        every: int

        def bind(self, schema: pa.Schema) -> BoundSpec:
            return BoundSpec(schema, schema, partial(Sampling, self.every))

    stream.apply(Sample, every=10).table()

The shard that hosts it reads times, moves the watermark, counts, and makes each step whole, on both engines.
`examples/extending/row_operator.py` is one in full. An aggregate derives from `fanlight.UserAggregate`
(`examples/extending/aggregate.py`), a sink follows `fanlight.sinks.BatchSink` (`examples/extending/sink.py`).
"""

from fanlight.kernels.slicing.of_kind import BringsSlicing
from fanlight.kernels.slicing.slicing import EVERY_WINDOW, FAR, NO_WINDOW, Slicing
from fanlight.model.reason import Reason
from fanlight.model.semantics import Semantics
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import WatermarkStrategy
from fanlight.model.windows.kind import WindowKind
from fanlight.operators.accounting import Books
from fanlight.operators.ingest.bundle import Bundle
from fanlight.operators.operator import BoundSpec, Operator, Progress
from fanlight.state.store import Address, ChunkStore

__all__ = [
    "END_OF_TIME",
    "EVERY_WINDOW",
    "FAR",
    "NO_WINDOW",
    "START_OF_TIME",
    "Address",
    "Books",
    "BoundSpec",
    "BringsSlicing",
    "Bundle",
    "ChunkStore",
    "Duration",
    "Operator",
    "Progress",
    "Reason",
    "Semantics",
    "Slicing",
    "StreamSpec",
    "TimeDomain",
    "TimeUnit",
    "WatermarkStrategy",
    "WindowKind",
]
