"""The words by which documents name what they hold, such as `Hopping`.

A word that was written once stays: manifests and snapshots have it. A class may be renamed; its word may not.
"""

from __future__ import annotations

from fanlight.model.aggregates.aggregate import Aggregate
from fanlight.model.aggregates.all_values import (
    CountDistinct,
    Distinct,
    Histogram,
    JoinedText,
    Listed,
    Mode,
    Quantile,
    Sorted,
    Top,
)
from fanlight.model.aggregates.approximate import ApproxCountDistinct, ApproxQuantile, HeavyHitters
from fanlight.model.aggregates.code import UserAggregate, UserBatch, UserFold, UserReduce
from fanlight.model.aggregates.composed import Composite
from fanlight.model.aggregates.paired import ArgMax, ArgMin, TopByKey, WeightedAvg
from fanlight.model.aggregates.ranked import TopRows
from fanlight.model.aggregates.single import (
    AllTrue,
    AnyTrue,
    Avg,
    Count,
    First,
    Last,
    Max,
    Min,
    StdDev,
    Sum,
    Variance,
)
from fanlight.model.changes import Changes
from fanlight.model.cogroup import CogroupSpec, CogroupType
from fanlight.model.continuation import Continuation
from fanlight.model.emission_mode import EmissionMode
from fanlight.model.fill import FillSpec, FillWith
from fanlight.model.firing import Accumulation, FiringTime, Op, Timing
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.as_of import AsOf, AsOfJoinSpec
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import Access, Frames, Unbounded
from fanlight.model.join.interval import Interval, IntervalJoinSpec
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.semantics import JoinSemantics
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.version import Version
from fanlight.model.join.window import SameWindow, WindowJoinSpec
from fanlight.model.normalize import NormalizeSpec
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame, SessionFrame
from fanlight.model.over.functions import (
    ColumnFunction,
    CumeDist,
    DenseRank,
    Lag,
    LastValue,
    Lead,
    NthValue,
    NTile,
    PartitionFunction,
    PercentRank,
    Rank,
    RowFunction,
    RowNumber,
)
from fanlight.model.over.spec import OrderBy, OverSpec
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.model.preparation import Extract, Intake, Preparation, Select, Sided, Tag, Where, WholeRow
from fanlight.model.recent import RecentSpec
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, LateBy, LateSessions, OnTime, Semantics
from fanlight.model.sort import SortSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Control, Explicit, FixedDistance, Several
from fanlight.model.top import TopSpec
from fanlight.model.triggers import (
    After,
    AfterDelay,
    AllOf,
    AnyOf,
    AtExpiry,
    AtWatermark,
    Every,
    InOrder,
    Never,
    OnSignal,
    Repeat,
    Until,
)
from fanlight.model.unique import Keep, UniqueSpec
from fanlight.model.windows.calendar import Calendar, CalendarUnit
from fanlight.model.windows.counting import Counting, Scope
from fanlight.model.windows.cumulating import Cumulating
from fanlight.model.windows.custom import Custom
from fanlight.model.windows.global_window import Global
from fanlight.model.windows.hopping import Hopping
from fanlight.model.windows.same import Same
from fanlight.model.windows.session import Session
from fanlight.model.windows.sliding import Anchor, Sliding
from fanlight.model.windows.tumbling import Tumbling
from fanlight.model.windows.window import Window

WORDS: dict[str, type] = {
    # windows
    "Calendar": Calendar,
    "CalendarUnit": CalendarUnit,
    "Counting": Counting,
    "Scope": Scope,
    "Cumulating": Cumulating,
    "Custom": Custom,
    "Global": Global,
    "Hopping": Hopping,
    "Same": Same,
    "Session": Session,
    "Anchor": Anchor,
    "Sliding": Sliding,
    "Tumbling": Tumbling,
    "Window": Window,
    # time
    "TimeDomain": TimeDomain,
    "Duration": Duration,
    "BoundedDisorder": BoundedDisorder,
    "Combine": Combine,
    "Control": Control,
    "Explicit": Explicit,
    "FixedDistance": FixedDistance,
    "Several": Several,
    # triggers
    "After": After,
    "AfterDelay": AfterDelay,
    "AllOf": AllOf,
    "AnyOf": AnyOf,
    "AtExpiry": AtExpiry,
    "AtWatermark": AtWatermark,
    "Every": Every,
    "InOrder": InOrder,
    "Never": Never,
    "OnSignal": OnSignal,
    "Repeat": Repeat,
    "Until": Until,
    # aggregates
    "Aggregate": Aggregate,
    "ApproxCountDistinct": ApproxCountDistinct,
    "ApproxQuantile": ApproxQuantile,
    "HeavyHitters": HeavyHitters,
    "UserAggregate": UserAggregate,
    "UserBatch": UserBatch,
    "UserFold": UserFold,
    "UserReduce": UserReduce,
    "Composite": Composite,
    "ArgMax": ArgMax,
    "ArgMin": ArgMin,
    "TopByKey": TopByKey,
    "TopRows": TopRows,
    "WeightedAvg": WeightedAvg,
    "AllTrue": AllTrue,
    "AnyTrue": AnyTrue,
    "Avg": Avg,
    "Count": Count,
    "CountDistinct": CountDistinct,
    "Distinct": Distinct,
    "First": First,
    "Histogram": Histogram,
    "JoinedText": JoinedText,
    "Last": Last,
    "Listed": Listed,
    "Max": Max,
    "Min": Min,
    "Mode": Mode,
    "Quantile": Quantile,
    "Sorted": Sorted,
    "StdDev": StdDev,
    "Sum": Sum,
    "Top": Top,
    "Variance": Variance,
    # over
    "OverSpec": OverSpec,
    "EmissionMode": EmissionMode,
    "OrderBy": OrderBy,
    "Frame": Frame,
    "RowFrame": RowFrame,
    "RangeFrame": RangeFrame,
    "SessionFrame": SessionFrame,
    "RowFunction": RowFunction,
    "ColumnFunction": ColumnFunction,
    "RowNumber": RowNumber,
    "Rank": Rank,
    "DenseRank": DenseRank,
    "Lag": Lag,
    "Lead": Lead,
    "NthValue": NthValue,
    "LastValue": LastValue,
    "PartitionFunction": PartitionFunction,
    "PercentRank": PercentRank,
    "CumeDist": CumeDist,
    "NTile": NTile,
    "WindowedOverSpec": WindowedOverSpec,
    # preparation
    "Preparation": Preparation,
    "Where": Where,
    "WholeRow": WholeRow,
    "Select": Select,
    "Extract": Extract,
    "Intake": Intake,
    "Tag": Tag,
    "Sided": Sided,
    # joins
    "AggregatedJoinSpec": AggregatedJoinSpec,
    "AsOf": AsOf,
    "Version": Version,
    "AsOfJoinSpec": AsOfJoinSpec,
    "FramesJoinSpec": FramesJoinSpec,
    "Frames": Frames,
    "Unbounded": Unbounded,
    "Access": Access,
    "IntervalJoinSpec": IntervalJoinSpec,
    "JoinSemantics": JoinSemantics,
    "JoinType": JoinType,
    "Side": Side,
    "Interval": Interval,
    "NWayJoinSpec": NWayJoinSpec,
    "WindowJoinSpec": WindowJoinSpec,
    "SameWindow": SameWindow,
    # the specs
    "Accumulation": Accumulation,
    "FiringTime": FiringTime,
    "Op": Op,
    "Timing": Timing,
    "Retention": Retention,
    "Closing": Closing,
    "LateBy": LateBy,
    "LateSessions": LateSessions,
    "OnTime": OnTime,
    "Semantics": Semantics,
    "TimeUnit": TimeUnit,
    "Changes": Changes,
    "Continuation": Continuation,
    "WindowSpec": WindowSpec,
    "CogroupSpec": CogroupSpec,
    "CogroupType": CogroupType,
    "NormalizeSpec": NormalizeSpec,
    "SortSpec": SortSpec,
    "Keep": Keep,
    "UniqueSpec": UniqueSpec,
    "TopSpec": TopSpec,
    "FillWith": FillWith,
    "FillSpec": FillSpec,
    "RecentSpec": RecentSpec,
}
"""Every class of the model that can stand in a document, by its word."""

WORD_OF: dict[type, str] = {kind: word for word, kind in WORDS.items()}
"""The word of each of them."""
