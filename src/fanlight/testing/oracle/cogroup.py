"""Cogroup, read slowly from the law: the windows of all inputs together, of which some panes say nothing yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from fanlight.model.aggregates.single import AnyTrue
from fanlight.model.cogroup import HERE, CogroupSpec
from fanlight.model.firing import Accumulation, Op
from fanlight.model.spec import WindowSpec
from fanlight.model.windows.window import Window
from fanlight.testing.oracle.window_aggregate import run as run_windows
from fanlight.testing.script import Firing, Key, Step, Transcript


def run(spec: CogroupSpec, steps: Sequence[Step]) -> Transcript:
    """What the law says comes out when `steps` go in; a record says in `here.…` of which inputs it is.

    >>> from fanlight.model.aggregates import count
    >>> from fanlight.model.windows.tumbling import tumbling
    >>> spec = CogroupSpec("ts", tumbling("10 us"), (("n", count()),), needs=("web",))
    >>> records = {"ts": 3, "here.web": True}, {"ts": 14, "here.web": None}
    >>> [firing.window.end for firing in run(spec, [Step(records=records), Step(end=True)]).firings]
    [10]
    """
    noted = tuple((f"{HERE}{name}", AnyTrue(f"{HERE}{name}")) for name in spec.needs)
    own = {one.name: getattr(spec, one.name) for one in fields(WindowSpec)}
    told = run_windows(WindowSpec(**{**own, "aggregates": (*spec.aggregates, *noted)}), steps)
    shown: set[tuple[Key, Window]] = set()
    outcomes = []
    for outcome in told.outcomes:
        rows = [_said(spec, firing, shown) for firing in outcome.firings]
        outcomes.append(replace(outcome, firings=tuple(row for row in rows if row is not None)))
    return Transcript(outcomes)


def _said(spec: CogroupSpec, firing: Firing, shown: set[tuple[Key, Window]]) -> Firing | None:
    """What leaves of a firing; `shown` are the panes whose row stands."""
    place = firing.key, firing.window
    values = {name: value for name, value in firing.values.items() if not name.startswith(HERE)}
    present = all(firing.values[f"{HERE}{name}"] is True for name in spec.needs)
    if firing.op is Op.INSERT and spec.accumulation is not Accumulation.DISCARDING:
        shown.discard(place)  # a pane that begins anew
    was_shown = place in shown
    if firing.op in (Op.RETRACT, Op.DELETE):
        if firing.op is Op.DELETE:
            shown.discard(place)
        return replace(firing, values=values) if was_shown else None
    if not present:
        return None
    shown.add(place)
    if spec.accumulation is Accumulation.DISCARDING:
        return replace(firing, values=values)
    return replace(firing, values=values, op=Op.UPDATE if was_shown else Op.INSERT)
