"""The joins of cases, declared: what each kind of match is called here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fanlight.model.emission_mode import EmissionMode
from fanlight.model.join.framed import FramesJoinSpec
from fanlight.model.join.frames import Frames, Unbounded
from fanlight.model.join.interval import Closed, Interval, IntervalJoinSpec, interval, same_time
from fanlight.model.join.semantics import JoinSemantics
from fanlight.model.join.sides import JoinType, Side
from fanlight.model.join.spec import JoinSpec
from fanlight.model.join.window import SameWindow, WindowJoinSpec
from fanlight.model.over.frame import Frame, RangeFrame, RowFrame
from fanlight.model.retention import Retention
from fanlight.model.time.duration import Duration
from fanlight.model.time.unit import TimeUnit
from fanlight.model.time.watermarks import BoundedDisorder, Combine, Explicit, Several
from fanlight.model.triggers import Every
from fanlight.model.windows.counting import Scope
from fanlight.testing.vectors.declare import TIME
from fanlight.testing.vectors.join.window import condition_of, join_windows
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import length
from fanlight.testing.vectors.peers import join_peer_of
from fanlight.testing.vectors.watermarks import policy_of, strategy_of

LEFT, RIGHT = "L", "R"
_ON: Any = True
"""How YAML reads the word `on` where it stands without quotes."""
_TYPES = {"outer": "full", "left_semi": "semi", "left_anti": "anti"}


def declared(vector: Vector) -> JoinSpec:
    """The join of a case."""
    return KINDS[vector.mapping("join")["kind"]](vector)


def by_interval(vector: Vector) -> IntervalJoinSpec:
    """Rows that are so far apart in time; those that match by key alone, however far."""
    join, keys = vector.mapping("join"), ("k",) if vector.get("key") else ()
    match = _match(join)
    how = JoinType(_TYPES.get(join["type"], join["type"]))
    return IntervalJoinSpec(
        Side(LEFT, TIME, TimeUnit.MICROSECONDS, keys),
        Side(RIGHT, TIME, TimeUnit.MICROSECONDS, keys),
        match.within(Retention() if match.opens or match.is_endless else None),
        how,
        _mode(vector),
        lateness=length(vector.get("lateness_ms", 0)),
        stamp={JoinType.RIGHT: "right", JoinType.FULL: None}.get(how, "left"),
        watermark=watermark_of(vector),
        semantics=JoinSemantics.named(join_peer_of(vector)),
    )


def watermark_of(vector: Vector) -> Several:
    """The watermarks of both sides, if they have any; stream time is the greatest of both, in bundles of one record."""
    if policy_of(vector).get("kind") == "none":
        return Several(((RIGHT, Explicit()), (LEFT, Explicit())))
    strategy = strategy_of(vector)
    if isinstance(strategy, BoundedDisorder) and strategy.per_record:
        followed = BoundedDisorder(strategy.delay)
        return Several(((RIGHT, followed), (LEFT, followed)), Combine.MAX)
    each = dict(strategy.inputs) if isinstance(strategy, Several) else {RIGHT: strategy, LEFT: strategy}
    return Several(((RIGHT, each[RIGHT]), (LEFT, each[LEFT])))


def _mode(vector: Vector) -> EmissionMode:
    """On close where it is said; kept up to date where the case looks at what stands after a step."""
    if vector.get("emit") == "on_close":
        return EmissionMode.ON_CLOSE
    return EmissionMode.RETRACTING if vector.get("expect_mode") == "state" else EmissionMode.EAGER


def by_window(vector: Vector) -> WindowJoinSpec:
    """Rows in the same window; Spark's pairs leave at once."""
    join, keys = vector.mapping("join"), ("k",) if vector.get("key") else ()
    how = JoinType(_TYPES.get(join["type"], join["type"]))
    return WindowJoinSpec(
        Side(LEFT, TIME, TimeUnit.MICROSECONDS, keys),
        Side(RIGHT, TIME, TimeUnit.MICROSECONDS, keys),
        SameWindow(join_windows(vector)),
        how,
        EmissionMode.EAGER if vector.get("emit") == "append" else EmissionMode.ON_CLOSE,
        condition_of(vector, how),
        watermark=Several(((RIGHT, Explicit()), (LEFT, Explicit()))),  # the cases say theirs, or have none
    )


def by_frames(vector: Vector) -> FramesJoinSpec:
    """Rows that the window of the other side holds, as SAMZA-552 has them: a side has one for all its keys."""
    join = vector.mapping("join")
    names = sides_of(vector)
    keys = (str(join["on"] if "on" in join else join[_ON]),)
    frames = [(str(join[place]["side"]), _frame(join[place]["frame"])) for place in ("left", "right")]
    held = vector.get("emit_every_processing")
    period = None if held is None else Every(length(held))
    return FramesJoinSpec(
        Side(names[1], TIME, TimeUnit.MICROSECONDS, keys),
        Side(names[0], TIME, TimeUnit.MICROSECONDS, keys),
        Frames(tuple(frames), Scope.STREAM),
        Retention(),
        lateness=length(vector.get("lateness_ms", 0)),
        watermark=Several(tuple((name, Explicit()) for name in names)),
        early=period,
        late=period,
    )


def sides_of(vector: Vector) -> tuple[str, str]:
    """What the right side and the left one are called."""
    join = vector.mapping("join")
    if join.get("kind") != "join_window":
        return RIGHT, LEFT
    return str(join["right"]["side"]), str(join["left"]["side"])


def _frame(said: Any) -> Frame:
    if said == "unbounded":
        return Unbounded()
    if said["unit"] == "rows":
        return RowFrame(preceding=said["preceding"])
    return RangeFrame(preceding=length(said["preceding"]))


def _match(join: Mapping[str, Any]) -> Interval:
    if join["kind"] == "equal_time":
        return same_time()
    if join["kind"] == "equi":
        return interval("-forever", "forever")
    if "before" in join:
        return Interval(Duration(-length(join["before"]).micros), length(join["after"]))
    low, high = join.get("lower_inclusive", True), join.get("upper_inclusive", True)
    closed: dict[tuple[bool, bool], Closed] = {
        (True, True): "both",
        (True, False): "left",
        (False, True): "right",
        (False, False): "neither",
    }
    return Interval(length(join["lower"]), length(join["upper"]), closed[low, high])


KINDS: dict[str, Callable[[Vector], JoinSpec]] = {
    "interval": by_interval,
    "equal_time": by_interval,
    "equi": by_interval,
    "window": by_window,
    "join_window": by_frames,
}
"""How the join of each kind is declared."""
