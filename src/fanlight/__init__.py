"""Fanlight: the complete event-time window model, columnar, in this process and on Spark.

>>> import fanlight as fl
>>> fl.hopping("10 minutes", every="10 seconds")
Hopping(size=Duration('10 min'), every=Duration('10 s'), offset=Duration('0 s'), \
domain=<TimeDomain.EVENT: 'event'>, gaps=False)
"""

from fanlight.embedded.standalone import WindowOperator
from fanlight.errors import (
    BackPressure,
    EngineError,
    FanlightError,
    InputError,
    SinkError,
    SpecError,
    StateError,
    VectorError,
)
from fanlight.model.aggregates import (
    Aggregate,
    UserAggregate,
    all,
    any,
    avg,
    count,
    count_distinct,
    first,
    last,
    list,
    max,
    median,
    min,
    quantile,
    stddev,
    sum,
    top,
    variance,
)
from fanlight.model.duration import Duration
from fanlight.model.firing import Accumulation, FiringTime, Op, Timing
from fanlight.model.letters import Reason
from fanlight.model.retention import Retention, retention
from fanlight.model.semantics import Closing, LateBy, OnTime, Semantics
from fanlight.model.spec import TimeUnit, WindowSpec
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
from fanlight.model.watermarks import Explicit, bounded_disorder, fixed_distance, several, stream_time
from fanlight.model.windows import TimeDomain, Window, global_window, hopping, tumbling
from fanlight.operators.accounting import Accounting
from fanlight.result import Result, inspect
from fanlight.stream import Stream, Windowed, stream

__all__ = [
    "Accounting",
    "Accumulation",
    "Aggregate",
    "BackPressure",
    "Closing",
    "Duration",
    "EngineError",
    "Explicit",
    "FanlightError",
    "FiringTime",
    "InputError",
    "LateBy",
    "OnTime",
    "Op",
    "Reason",
    "Result",
    "Retention",
    "Semantics",
    "SinkError",
    "SpecError",
    "StateError",
    "Stream",
    "TimeDomain",
    "TimeUnit",
    "Timing",
    "Trigger",
    "UserAggregate",
    "VectorError",
    "Window",
    "WindowOperator",
    "WindowSpec",
    "Windowed",
    "after",
    "after_delay",
    "all",
    "all_of",
    "any",
    "any_of",
    "at_expiry",
    "at_watermark",
    "avg",
    "bounded_disorder",
    "count",
    "count_distinct",
    "every",
    "first",
    "fixed_distance",
    "global_window",
    "hopping",
    "in_order",
    "inspect",
    "last",
    "list",
    "max",
    "median",
    "min",
    "never",
    "on_signal",
    "quantile",
    "repeat",
    "retention",
    "samza_policies",
    "several",
    "stddev",
    "stream",
    "stream_time",
    "sum",
    "top",
    "tumbling",
    "until",
    "variance",
]
