"""Where the matches of a row may be, as a bracket: from the first time of the other side that matches to the last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fanlight.model.join.aggregated import AggregatedJoinSpec
from fanlight.model.join.as_of import AsOfJoinSpec
from fanlight.model.join.interval import IntervalJoinSpec
from fanlight.model.join.spec import JoinSpec
from fanlight.model.time.timestamp import Timestamp
from fanlight.viz.axis import Axis
from fanlight.viz.packing import packed
from fanlight.viz.svg import Canvas, number

_LINE = 9.0
_TICK = 3.5


class Span(NamedTuple):
    """From where to where; both may match."""

    first: Timestamp
    last: Timestamp


def span_of(spec: JoinSpec, time: Timestamp) -> Span | None:
    """Where right rows are that match a left row at `time`; None if that is one instant, all time before,
    or said by a window.

    >>> import fanlight as fl
    >>> o, p = (fl.stream([], time="ts", unit="s", name=name) for name in ("o", "p"))
    >>> span_of(o.join(p, fl.as_of("10 s", "forward"), on="id").spec, 0)
    Span(first=0, last=10000000)
    """
    match spec:
        case IntervalJoinSpec(match=interval) | AggregatedJoinSpec(match=interval):
            found = Span(time + interval.least, time + interval.most)
        case AsOfJoinSpec(match=nearest) if not nearest.is_unlimited:
            found = Span(time - nearest.reach if nearest.looks_back else time, time + nearest.most)
        case _:
            return None
    return None if found.first == found.last else found


class Brackets:
    """The brackets of the left rows of a lane, laid out so that none covers another."""

    def __init__(self, spans: Sequence[tuple[Timestamp, Span]], axis: Axis) -> None:
        """Of each left row its time, and its span."""
        self._axis = axis
        self._spans = spans
        extents = (
            (min(axis.x(time), axis.x(span.first)), max(axis.x(time), axis.x(span.last))) for time, span in spans
        )
        self._lines = packed(extents, gap=6)

    @property
    def height(self) -> float:
        """How much room they take."""
        return _LINE * (max(self._lines, default=-1) + 1)

    def draw(self, canvas: Canvas, top: float, starts: Sequence[float]) -> None:
        """Draw them, the first line at `top`; the stem of each begins at its `starts`, below the mark of its row."""
        axis = self._axis
        for (time, span), line, start in zip(self._spans, self._lines, starts, strict=True):
            y = top + (line + 0.5) * _LINE
            with canvas.group(f"matches are from {axis.text(span.first)} to {axis.text(span.last)}"):
                canvas.draw("path", class_="axis", fill="none", d="".join(self._outline(time, span, start, y)))

    def _outline(self, time: Timestamp, span: Span, start: float, y: float) -> Iterator[str]:
        """The stem, the line, and a tick at each end that is on the axis."""
        axis, x, at = self._axis, self._axis.x(time), number(y)
        left, right = axis.x(span.first), axis.x(span.last)
        yield f"M{number(x)} {number(start)}V{at}M{number(min(x, left))} {at}H{number(max(x, right))}"
        for end, edge in ((span.first, left), (span.last, right)):
            if axis.first <= end <= axis.last:
                yield f"M{number(edge)} {number(y - _TICK)}V{number(y + _TICK)}"
