"""What users are told of a source and a pipeline that do not go well together: before anything runs, if that is known.

| what is declared                                   | what is said                                           |
|----------------------------------------------------|--------------------------------------------------------|
| firings by the clock, over a source without one    | an error: nothing would ever fire                      |
| a source of several bundles, and no `delay`        | a warning: every record out of order is late           |

What only a run can tell is said there: that all records came as one bundle (`embedded/one_bundle.py`).
"""

from __future__ import annotations

import warnings
from collections.abc import Sized

from fanlight.errors import FanlightWarning, SpecError
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.watermarks import FixedDistance


def is_fed_by_hand(source: object) -> bool:
    """Whether a source has no record at all: its pipeline is there for the operator, whose caller has the clock."""
    return isinstance(source, Sized) and len(source) == 0


def warn_of_no_delay(stacklevel: int) -> None:
    """Say what it means that nobody said how far out of order records may be; `stacklevel` is that of `warnings`."""
    warnings.warn(
        "stream: no `delay` is given, and this source comes in several bundles. The watermark is the greatest time "
        "seen, so a record that comes after one with a later time may be late, or a dead letter. Say how far out of "
        'order records may be, as in delay="5 s"; delay="0 s" says that they come in order.',
        FanlightWarning,
        stacklevel=stacklevel + 1,
    )


def require_clock(spec: StreamSpec, has_clock: bool) -> None:
    """Refuse what only a clock makes fire where there is none."""
    if has_clock or not (spec.needs_clock or isinstance(spec.watermark, FixedDistance)):
        return
    if isinstance(spec.watermark, FixedDistance):
        what = f"stream: `watermark` stays {spec.watermark.distance} behind the clock"
    elif spec.domain is TimeDomain.PROCESSING:
        what = "window: these windows go by the clock"
    else:
        what = "trigger: every(…) and after_delay(…) go by the clock"
    raise SpecError(
        f"{what}, and this source has none, so nothing would ever come of it. Name a column of arrival times, as in "
        'stream(…, clock="arrived"), or give a function, as in clock=lambda: datetime.now(UTC); '
        'every(…, domain="event") goes by the watermark. A pipeline to feed by hand is declared over no records, as in '
        "stream([], …), and its operator is told the clock."
    )
