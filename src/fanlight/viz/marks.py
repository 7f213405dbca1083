"""The shapes of a timeline: each meaning has one of its own.

Records: a circle is accepted, a diamond late, a cross a dead letter; an empty circle is a duplicate, a delete, or what
a delete took back. Those of the right side of a join are squares.
Firings: a triangle is EARLY, a square ON_TIME, a diamond LATE.
"""

from __future__ import annotations

from fanlight.model.firing import Timing
from fanlight.viz.played import Fate, PlayedArrival
from fanlight.viz.style import SMALL, width_of
from fanlight.viz.svg import Canvas, number

MARK = 10.0
"""How wide the mark of a firing is."""

ROUND = 9.0
"""The corner of the mark of a record, which makes it a circle; where there are two sides, that of the left one."""
SQUARE = 2.0
"""The corner of the mark of a record of the right side."""

_RADIUS = 9.0
_CROSS = 5.0


def class_of(timing: Timing) -> str:
    """What the style calls a timing."""
    return timing.name.lower()


def draw_firing(canvas: Canvas, timing: Timing, x: float, y: float) -> None:
    """The mark of a firing, centred."""
    half = MARK / 2
    match timing:
        case Timing.EARLY:
            draw_polygon(canvas, "early", (x, y - half), (x + half, y + half), (x - half, y + half))
        case Timing.ON_TIME:
            canvas.draw("rect", class_="on_time", x=x - 4, y=y - 4, width=8.0, height=8.0)
        case Timing.LATE:
            _diamond(canvas, "late", x, y, half + 0.5)


def record_width(arrival: PlayedArrival) -> tuple[float, float]:
    """How far a record's mark reaches to the left and to the right of its time."""
    if arrival.fate is Fate.DEAD:
        return _CROSS + 2, _CROSS + 6 + width_of(letter_text(arrival), SMALL)
    half = _half_width(arrival)
    return half, half


def letter_text(arrival: PlayedArrival) -> str:
    """What stands beside a dead letter: its step and its reason."""
    return f"{arrival.step_name} {arrival.reason}"


def draw_record(
    canvas: Canvas, arrival: PlayedArrival, x: float, y: float, *, text_left: bool = False, corner: float = ROUND
) -> None:
    """The mark of a record, with the number of the step that brought it."""
    if arrival.fate is Fate.DEAD:
        draw_cross(canvas, x, y, _CROSS)
        place = x - _CROSS - 6 if text_left else x + _CROSS + 6
        class_ = "small dead right" if text_left else "small dead"
        canvas.draw("text", letter_text(arrival), class_=class_, x=place, y=y + 4)
        return
    half = _half_width(arrival)
    is_empty = arrival.fate in (Fate.DUPLICATE, Fate.TAKEN_BACK, Fate.DELETE)
    if arrival.fate is Fate.LATE:
        _diamond(canvas, "late_record", x, y, half)
    else:
        class_ = "replaced" if is_empty else "record"
        canvas.draw("rect", class_=class_, x=x - half, y=y - _RADIUS, width=2 * half, height=2 * _RADIUS, rx=corner)
    class_ = "small faint middle" if is_empty else "small in_record middle"
    canvas.draw("text", arrival.step_name, class_=class_, x=x, y=y + 4)


def draw_dot(canvas: Canvas, arrival: PlayedArrival, x: float, y: float, *, corner: float = ROUND) -> None:
    """A record among the steps: small, without a number."""
    if corner != ROUND and arrival.fate is not Fate.DEAD:
        class_ = "record" if arrival.fate is Fate.ACCEPTED else "replaced"
        canvas.draw("rect", class_=class_, x=x - 3, y=y - 3, width=6.0, height=6.0)
        return
    match arrival.fate:
        case Fate.DEAD:
            draw_cross(canvas, x, y, 3.5)
        case Fate.LATE:
            _diamond(canvas, "late_record", x, y, 5.0)
        case Fate.ACCEPTED:
            canvas.draw("circle", class_="record", cx=x, cy=y, r=3.5)
        case Fate.DUPLICATE | Fate.TAKEN_BACK | Fate.DELETE:
            canvas.draw("circle", class_="replaced", cx=x, cy=y, r=3.5)


def draw_cross(canvas: Canvas, x: float, y: float, half: float) -> None:
    """The mark of a dead letter, centred."""
    left, right, top, bottom = (number(edge) for edge in (x - half, x + half, y - half, y + half))
    canvas.draw("path", class_="cross", d=f"M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}")


def _half_width(arrival: PlayedArrival) -> float:
    digits = width_of(arrival.step_name, SMALL)
    return max(_RADIUS, digits / 2 + 4) + (3 if arrival.fate is Fate.LATE else 0)


def _diamond(canvas: Canvas, class_: str, x: float, y: float, half: float) -> None:
    draw_polygon(canvas, class_, (x, y - half), (x + half, y), (x, y + half), (x - half, y))


def draw_polygon(canvas: Canvas, class_: str, *points: tuple[float, float]) -> None:
    """A closed shape through these points."""
    canvas.draw("polygon", class_=class_, points=" ".join(f"{number(x)},{number(y)}" for x, y in points))
