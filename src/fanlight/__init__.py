"""Fanlight: the complete event-time window model, columnar, in this process and on Spark.

>>> import fanlight as fl
>>> fl.hopping("10 minutes", every="10 seconds")
Hopping(size=Duration('10 min'), every=Duration('10 s'), offset=Duration('0 s'), \
domain=<TimeDomain.EVENT: 'event'>, gaps=False)
"""

from importlib.metadata import version as _version

from fanlight.checkpoint import inspect
from fanlight.cogroup import Cogroup, cogroup
from fanlight.embedded.composite import CompositeOperator
from fanlight.embedded.join_operator import StandaloneJoin
from fanlight.embedded.standalone import StandaloneOperator
from fanlight.embedded.window_operator import WindowOperator
from fanlight.errors import (
    BackPressure,
    EngineError,
    FanlightError,
    FanlightWarning,
    InputError,
    MissingExtra,
    OtherEngine,
    SinkError,
    SpecError,
    StateError,
    VectorError,
)
from fanlight.inputs import stream, table
from fanlight.joins import JoinResult, NWayJoinResult, join, why
from fanlight.model.aggregates import (
    Aggregate,
    UserAggregate,
    all,
    any,
    approx_count_distinct,
    approx_quantile,
    arg_max,
    arg_min,
    avg,
    batch,
    composite,
    count,
    count_distinct,
    distinct,
    first,
    fold,
    heavy_hitters,
    histogram,
    join_text,
    last,
    list,
    max,
    median,
    min,
    mode,
    quantile,
    reduce,
    sorted,
    stddev,
    sum,
    top,
    top_by_key,
    variance,
    weighted_avg,
)
from fanlight.model.cogroup import CogroupSpec
from fanlight.model.fill import FillSpec
from fanlight.model.firing import Accumulation, FiringTime, Op, Timing
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.as_of import AsOf, AsOfJoinSpec, as_of
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import Frames, frames, unbounded
from fanlight.model.join.interval import Interval, IntervalJoinSpec, interval, same_time
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.semantics import JoinSemantics
from fanlight.model.join.spec import JoinSpec
from fanlight.model.join.version import Version, version
from fanlight.model.join.why import JoinVerdict, Why
from fanlight.model.join.window import SameWindow, WindowJoinSpec, same_window
from fanlight.model.order_by import asc, desc
from fanlight.model.over.frame import range, rows, session_frame
from fanlight.model.over.functions import (
    cume_dist,
    dense_rank,
    first_value,
    lag,
    last_value,
    lead,
    nth_value,
    ntile,
    percent_rank,
    rank,
    row_number,
)
from fanlight.model.over.spec import OverSpec
from fanlight.model.reason import Reason
from fanlight.model.recent import RecentSpec
from fanlight.model.retention import Retention, retention
from fanlight.model.semantics import Closing, LateBy, LateSessions, OnTime, Semantics
from fanlight.model.sort import SortSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import Explicit, bounded_disorder, control, fixed_distance, several, stream_time
from fanlight.model.top import TopSpec
from fanlight.model.triggers import (
    Trigger,
    after,
    after_delay,
    all_of,
    any_of,
    at_expiry,
    at_watermark,
    every,
    in_order,
    never,
    on_signal,
    repeat,
    samza_policies,
    until,
)
from fanlight.model.unique import UniqueSpec
from fanlight.model.windows.calendar import Calendar, CalendarUnit, calendar
from fanlight.model.windows.counting import Counting, Scope, counting
from fanlight.model.windows.cumulating import Cumulating, cumulating
from fanlight.model.windows.custom import Custom, custom
from fanlight.model.windows.global_window import global_window
from fanlight.model.windows.hopping import hopping
from fanlight.model.windows.kind import WindowKind
from fanlight.model.windows.session import Session, session, tuple_session
from fanlight.model.windows.sliding import Anchor, Sliding, sliding
from fanlight.model.windows.tumbling import tumbling
from fanlight.model.windows.window import Window
from fanlight.operators.accounting import Accounting
from fanlight.operators.ingest.expressions import col
from fanlight.over_result import OverResult
from fanlight.result import Result
from fanlight.row_result import RowResult
from fanlight.stream import Stream
from fanlight.union import union
from fanlight.windowed import Windowed

__version__ = _version("fanlight")

__all__ = [
    "Accounting",
    "Accumulation",
    "Aggregate",
    "AggregatedJoinSpec",
    "Anchor",
    "AsOf",
    "AsOfJoinSpec",
    "BackPressure",
    "Calendar",
    "CalendarUnit",
    "Closing",
    "Cogroup",
    "CogroupSpec",
    "CompositeOperator",
    "Counting",
    "Cumulating",
    "Custom",
    "Duration",
    "EngineError",
    "Explicit",
    "FanlightError",
    "FanlightWarning",
    "FillSpec",
    "FiringTime",
    "Frames",
    "FramesJoinSpec",
    "InputError",
    "Interval",
    "IntervalJoinSpec",
    "JoinResult",
    "JoinSemantics",
    "JoinSpec",
    "JoinVerdict",
    "LateBy",
    "LateSessions",
    "MissingExtra",
    "NWayJoinResult",
    "NWayJoinSpec",
    "OnTime",
    "Op",
    "OtherEngine",
    "OverResult",
    "OverSpec",
    "Reason",
    "RecentSpec",
    "Result",
    "Retention",
    "RowResult",
    "SameWindow",
    "Scope",
    "Semantics",
    "Session",
    "SinkError",
    "Sliding",
    "SortSpec",
    "SpecError",
    "StandaloneJoin",
    "StandaloneOperator",
    "StateError",
    "Stream",
    "TimeDomain",
    "TimeUnit",
    "Timing",
    "TopSpec",
    "Trigger",
    "UniqueSpec",
    "UserAggregate",
    "VectorError",
    "Version",
    "Why",
    "Window",
    "WindowJoinSpec",
    "WindowKind",
    "WindowOperator",
    "WindowSpec",
    "Windowed",
    "after",
    "after_delay",
    "all",
    "all_of",
    "any",
    "any_of",
    "approx_count_distinct",
    "approx_quantile",
    "arg_max",
    "arg_min",
    "as_of",
    "asc",
    "at_expiry",
    "at_watermark",
    "avg",
    "batch",
    "bounded_disorder",
    "calendar",
    "cogroup",
    "col",
    "composite",
    "control",
    "count",
    "count_distinct",
    "counting",
    "cume_dist",
    "cumulating",
    "custom",
    "dense_rank",
    "desc",
    "distinct",
    "every",
    "first",
    "first_value",
    "fixed_distance",
    "fold",
    "frames",
    "global_window",
    "heavy_hitters",
    "histogram",
    "hopping",
    "in_order",
    "inspect",
    "interval",
    "join",
    "join_text",
    "lag",
    "last",
    "last_value",
    "lead",
    "list",
    "max",
    "median",
    "min",
    "mode",
    "never",
    "nth_value",
    "ntile",
    "on_signal",
    "percent_rank",
    "quantile",
    "range",
    "rank",
    "reduce",
    "repeat",
    "retention",
    "row_number",
    "rows",
    "same_time",
    "same_window",
    "samza_policies",
    "session",
    "session_frame",
    "several",
    "sliding",
    "sorted",
    "stddev",
    "stream",
    "stream_time",
    "sum",
    "table",
    "top",
    "top_by_key",
    "tumbling",
    "tuple_session",
    "unbounded",
    "union",
    "until",
    "variance",
    "version",
    "weighted_avg",
    "why",
]
