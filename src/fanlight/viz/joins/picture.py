"""The picture of a join's own run."""

from __future__ import annotations

from fanlight.errors import OtherEngine
from fanlight.model.firing import Timing
from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.sides import JoinType
from fanlight.model.join.spec import JoinSpec
from fanlight.model.join.window import WindowJoinSpec
from fanlight.model.time.timestamp import Timestamp
from fanlight.viz.axis import Axis, axis_over
from fanlight.viz.frame import framed
from fanlight.viz.joins.lanes import JoinLane, join_gutter, join_key
from fanlight.viz.joins.nodes import told_of
from fanlight.viz.joins.played import PlayedJoin, played_join
from fanlight.viz.joins.spans import span_of
from fanlight.viz.joins.steps import RIGHT_DASHES, SidesSteps
from fanlight.viz.legend import Symbol
from fanlight.viz.marks import ROUND, SQUARE, draw_cross, draw_firing, draw_record
from fanlight.viz.own_run import RunsItself
from fanlight.viz.panel import MARGIN, WIDTH, Panel, letters_told
from fanlight.viz.played import Fate, PlayedArrival
from fanlight.viz.svg import Canvas, number
from fanlight.viz.words import described


def join_picture(pipeline: RunsItself, title: str | None) -> str:
    """An SVG document of the run of a join over the records of its own sides."""
    if pipeline.is_on_spark:
        raise OtherEngine(
            "timeline: this join runs on Spark, and a picture is drawn of what runs in this process. Declare it over "
            "lists of records, and draw that."
        )
    played = played_join(pipeline.again().embedded_run())
    axis = axis_over(played.spec, _times(played), MARGIN + join_gutter(played), WIDTH - MARGIN)
    lanes = [JoinLane(played, key, axis) for key in played.keys]
    panel = Panel(lanes, SidesSteps(played, axis), axis, _told(played, axis))
    asked = described(played.spec)
    return framed(panel, _meanings(played), title or asked, asked)


def _times(played: PlayedJoin) -> list[Timestamp]:
    """Every time the axis must reach: those of records and windows, and where matches may be, if that is not far."""
    times = [arrival.time for arrival in played.arrivals.values() if arrival.time is not None]
    windows = [bound for row in played.rows if row.window for bound in (row.window.start, row.window.end)]
    known = [time for time in times if abs(time) < 1 << 62] or [0]
    length = max(known) - min(known)
    lefts = [one.time for one in played.arrivals.values() if one.source == played.spec.left.name and one.time in known]
    reached = [
        bound
        for time in lefts
        if (span := span_of(played.spec, time)) is not None and span.last - span.first <= length
        for bound in span
    ]
    return [*times, *windows, *reached]


def _told(played: PlayedJoin, axis: Axis) -> str:
    """The run for who cannot see the picture."""
    said = [f"{described(played.spec)}. {len(played.arrivals)} records in {len(played.moments)} steps."]
    for key in played.keys:
        said += [f"{join_key(played, key)}: {told_of(row, played, axis)}." for row in played.rows if row.key == key]
    return " ".join([*said, *letters_told(list(played.arrivals.values()))])


def _meanings(played: PlayedJoin) -> list[tuple[Symbol, str]]:
    """What is in the picture, and what it means."""
    spec, arrivals = played.spec, played.arrivals.values()
    fates = {arrival.fate for arrival in arrivals}
    names = spec.left.name, spec.right.name
    found: list[tuple[Symbol, str]] = []
    for name, corner in zip(names, (ROUND, SQUARE), strict=True):
        if any(arrival.source == name for arrival in arrivals):
            found.append((_record(Fate.ACCEPTED, corner), f"record of {name}, and the step it came in"))
    if Fate.TAKEN_BACK in fates:
        found.append((_record(Fate.TAKEN_BACK, ROUND), "taken back by a change"))
    if Fate.DELETE in fates:
        found.append((_record(Fate.DELETE, SQUARE), "delete: from here on there is none"))
    if Fate.DEAD in fates:
        found.append((lambda canvas, x, y: draw_cross(canvas, x, y, 5), "dead letter, and the reason"))
    if any(
        span_of(spec, arrival.time) for arrival in arrivals if arrival.time is not None and arrival.source == names[0]
    ):
        found.append((_bracket, "where its matches may be"))
    if played.rows:
        found.append((_left, f"{_what(spec)}, and the step it left in"))
    if any(row.until is not None for row in played.rows):
        found.append((_taken_back, "taken back in that step"))
    if isinstance(spec, WindowJoinSpec) and played.rows:
        found.append((_window, "window"))
    found.append((_watermark(None), f"watermark of {names[0]}"))
    found.append((_watermark(RIGHT_DASHES), f"watermark of {names[1]}"))
    return found


def _what(spec: JoinSpec) -> str:
    """What a row of the join is."""
    if isinstance(spec, AggregatedJoinSpec):
        return "row with aggregates of its matches"
    alone = {
        JoinType.SEMI: f"row of {spec.left.name} with a match",
        JoinType.ANTI: f"row of {spec.left.name} without one",
    }
    return alone.get(spec.how, "joined row" if spec.how is JoinType.INNER else "joined row, null without a match")


def _record(fate: Fate, corner: float) -> Symbol:
    return lambda canvas, x, y: draw_record(canvas, PlayedArrival(1, (), 0, {}, fate), x, y, corner=corner)


def _left(canvas: Canvas, x: float, y: float) -> None:
    canvas.draw("rect", class_="on_time bar", x=x - 9, y=y - 8, width=18.0, height=16.0, rx=4.0)
    draw_firing(canvas, Timing.ON_TIME, x, y)


def _taken_back(canvas: Canvas, x: float, y: float) -> None:
    canvas.draw("text", "-D", class_="small dead middle", x=x, y=y + 4)


def _window(canvas: Canvas, x: float, y: float) -> None:
    canvas.draw("rect", class_="on_time bar", x=x - 9, y=y - 6, width=18.0, height=12.0, opacity=0.4)


def _bracket(canvas: Canvas, x: float, y: float) -> None:
    left, right, low = number(x - 9), number(x + 9), number(y + 3)
    ends = f"M{left} {number(y)}V{number(y + 6)}M{right} {number(y)}V{number(y + 6)}"
    canvas.draw("path", class_="axis", fill="none", d=f"M{left} {number(y - 5)}V{low}H{right}{ends}")


def _watermark(dashes: str | None) -> Symbol:
    broken = {} if dashes is None else {"stroke_dasharray": dashes}

    def draw(canvas: Canvas, x: float, y: float) -> None:
        path = f"M{number(x - 9)} {number(y - 4)}H{number(x)}V{number(y + 4)}H{number(x + 9)}"
        canvas.draw("path", class_="watermark", d=path, **broken)

    return draw
