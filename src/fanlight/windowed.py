"""The words of windows: when they fire, what a firing carries, then `agg`; or grouped again inside their windows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn, Self, cast

from fanlight.errors import SpecError
from fanlight.model.aggregates import Aggregate
from fanlight.model.continuation import RECORD
from fanlight.model.enum_word import choice
from fanlight.model.firing import Accumulation, FiringTime
from fanlight.model.given import checked, checked_columns
from fanlight.model.retention import Retention
from fanlight.model.semantics import Closing, OnTime, Semantics
from fanlight.model.spec import WindowSpec
from fanlight.model.spec_json import to_document, words
from fanlight.model.time.domain import TimeDomain
from fanlight.model.time.duration import Duration
from fanlight.model.triggers import AtWatermark, Trigger
from fanlight.model.windows.kind import WindowKind

if TYPE_CHECKING:
    from fanlight.result import Result
    from fanlight.stream import Stream

_AFTERWARDS = (
    *("table", "df", "write_to", "dead_letters", "on_dead_letters", "accounting", "accounts", "explain", "operator"),
    *("rewindow", "spec"),
)
"""What only a complete pipeline has."""


@dataclass(frozen=True, slots=True, repr=False)
class Windowed:
    """A windowed stream: say when it fires and what a firing carries, then `agg`."""

    stream: Stream
    kind: WindowKind
    lateness: Duration
    retention: Retention | None
    firing: Trigger = AtWatermark()
    updated_only: bool = False
    accumulation: Accumulation = Accumulation.ACCUMULATING
    rules: Semantics = Semantics()
    stamp: FiringTime = FiringTime.END

    def trigger(self, trigger: Trigger, *, updated_only: bool = False) -> Self:
        """When panes fire. `updated_only` holds back firings whose values did not change."""
        if not isinstance(trigger, Trigger):
            raise SpecError(
                f"trigger: {trigger!r} is no trigger. Use one, as in trigger(at_watermark(early=after(1)))."
            )
        return replace(self, firing=trigger, updated_only=updated_only)

    def discarding(self) -> Self:
        """A firing carries what came since the last one."""
        return replace(self, accumulation=Accumulation.DISCARDING)

    def accumulating(self) -> Self:
        """A firing carries all so far."""
        return replace(self, accumulation=Accumulation.ACCUMULATING)

    def retracting(self) -> Self:
        """A firing carries all so far, after the one before has been taken back."""
        return replace(self, accumulation=Accumulation.RETRACTING)

    def semantics(self, rules: Semantics | str) -> Self:
        """Answer the questions peers disagree on as one of them does: 'beam', 'flink', 'kafka' and so on."""
        return replace(self, rules=Semantics.named(rules) if isinstance(rules, str) else rules)

    def closing(self, *, on_time: OnTime | str | None = None, last: Closing | str | None = None) -> Self:
        """Whether an on-time firing and a last firing leave with nothing new in them."""
        rules = self.rules
        if on_time is not None:
            rules = replace(rules, on_time=choice(OnTime, on_time, "on_time"))
        if last is not None:
            rules = replace(rules, closing=choice(Closing, last, "last"))
        return replace(self, rules=rules)

    def stamped(self, time: FiringTime | str) -> Self:
        """Which event time a firing carries: the window's end, or its earliest or latest record."""
        return replace(self, stamp=choice(FiringTime, time, "stamped"))

    def agg(self, **aggregates: Aggregate) -> Result:
        """Compute these for each pane; the pipeline is complete."""
        spec = self._spec(self.stream, aggregates)
        stream = self.stream if self.stream.changes is None else self.stream.settled(spec)
        if any(aggregate.needs_whole_records for _, aggregate in spec.aggregates):
            read = [name for name in self._spec(stream, aggregates).columns if name != RECORD]
            stream = stream.as_whole_rows(*read, name=RECORD)
        return cast("Result", stream.complete(spec if stream is self.stream else self._spec(stream, aggregates)))

    def _spec(self, stream: Stream, aggregates: Mapping[str, Aggregate]) -> WindowSpec:
        """The declaration over these records."""
        return WindowSpec(
            time=stream.time,
            window=self.kind,
            aggregates=checked(aggregates),
            keys=stream.keys,
            trigger=self.firing,
            accumulation=self.accumulation,
            updated_only=self.updated_only,
            lateness=self.lateness,
            retention=self.retention,
            watermark=stream.watermark,
            semantics=self.rules,
            firing_time=self.stamp,
            unit=stream.unit,
            tick=stream.tick,
            ahead=stream.ahead if self.kind.domain is TimeDomain.EVENT else None,
            changes=stream.changes,
        )

    def __repr__(self) -> str:
        """The stream and its windows, never the data."""
        return f"{repr(self.stream)[:-1]}, windows {words(to_document(self.kind))}: say agg(…) to complete it>"

    if not TYPE_CHECKING:  # a checker knows what is missing, and says it before it runs

        def __getattr__(self, name: str) -> NoReturn:
            """Called for what a windowed stream does not have: what comes before `window` or after `agg` is told so."""
            if name in ("sort", "unique_by", "recent", "apply"):
                told = f": say {name}(…) in the place of window(…) and agg(…), as in stream.{name}(…)"
            elif hasattr(type(self.stream), name):
                told = f": say {name}(…) before window(…)"
            else:
                told = f": say agg(…) first, as in agg(n=count()).{name}" if name in _AFTERWARDS else ""
            raise AttributeError(f"A windowed stream has no {name!r}{told}.")


@dataclass(frozen=True, slots=True, repr=False)
class Rewindowed(Windowed):
    """Results to be grouped again inside their windows: say by what, then `agg`."""

    def key_by(self, *columns: str) -> Self:
        """Group by these columns of the result; without, each window is one group."""
        return replace(self, stream=replace(self.stream, keys=checked_columns("key_by", columns)))

    def __repr__(self) -> str:
        """What is grouped again, and by what."""
        by = ", ".join(self.stream.keys) or "window alone"
        return f"{self.stream.origin!r}\nto be grouped again by {by}: say agg(…)"
