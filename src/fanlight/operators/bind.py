"""Bind a spec to its input columns: operators are registered here."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import pyarrow as pa

from fanlight.model.cogroup import CogroupSpec
from fanlight.model.fill import FillSpec
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.as_of import AsOfJoinSpec
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.model.join.n_way import NWayJoinSpec
from fanlight.model.join.window import WindowJoinSpec
from fanlight.model.normalize import NormalizeSpec
from fanlight.model.over.spec import OverSpec
from fanlight.model.over.windowed import WindowedOverSpec
from fanlight.model.recent import RecentSpec
from fanlight.model.sort import SortSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.top import TopSpec
from fanlight.model.unique import UniqueSpec
from fanlight.operators.cogroup.operator import bind_cogroup
from fanlight.operators.fill.operator import bind_fill
from fanlight.operators.join.aggregated.operator import bind_aggregated_join
from fanlight.operators.join.as_of.bind import bind_as_of_join
from fanlight.operators.join.frames.bind import bind_frames_join
from fanlight.operators.join.interval.bind import bind_interval_join
from fanlight.operators.join.n_way.bind import bind_n_way_join
from fanlight.operators.join.window.bind import bind_window_join
from fanlight.operators.normalize.operator import bind_normalize
from fanlight.operators.operator import BoundSpec
from fanlight.operators.over.bind import bind_over
from fanlight.operators.over.partitions import bind_windowed_over
from fanlight.operators.recent.operator import bind_recent
from fanlight.operators.sort.operator import bind_sort
from fanlight.operators.top.operator import bind_top
from fanlight.operators.unique.operator import bind_unique
from fanlight.operators.window.aggregate import bind_window


@singledispatch
def bind(spec: Any, schema: pa.Schema, *, lean: bool = False) -> BoundSpec:  # noqa: ARG001 -- rows that always tell all
    """A spec bound to the columns of its input: every name looked up, every type checked, every kernel chosen.

    A user's own spec binds itself. `lean` leaves out result columns that would be the same in every row.
    """
    bound: BoundSpec = spec.bind(schema)
    return bound


bind.register(WindowSpec, bind_window)
bind.register(CogroupSpec, bind_cogroup)
bind.register(SortSpec, bind_sort)
bind.register(NormalizeSpec, bind_normalize)
bind.register(UniqueSpec, bind_unique)
bind.register(OverSpec, bind_over)
bind.register(TopSpec, bind_top)
bind.register(FillSpec, bind_fill)
bind.register(WindowedOverSpec, bind_windowed_over)
bind.register(AggregatedJoinSpec, bind_aggregated_join)
bind.register(AsOfJoinSpec, bind_as_of_join)
bind.register(FramesJoinSpec, bind_frames_join)
bind.register(IntervalJoinSpec, bind_interval_join)
bind.register(NWayJoinSpec, bind_n_way_join)
bind.register(WindowJoinSpec, bind_window_join)
bind.register(RecentSpec, bind_recent)
