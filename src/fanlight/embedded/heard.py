"""What an operator has been told besides records: the clock, watermarks, the signal, how far its sources were read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fanlight.kernels.groups import Ints
from fanlight.model.spec import WindowSpec
from fanlight.model.timestamp import START_OF_TIME, Timestamp, TimestampLike, timestamp
from fanlight.model.windows import TimeDomain
from fanlight.operators.panes import Signal
from fanlight.operators.watermark import Watermarks, watermark_of


class Heard:
    """Takes the caller's word, and says it again after a restart or a step that failed."""

    def __init__(self, spec: WindowSpec) -> None:
        self._spec = spec
        self.clock: Timestamp = START_OF_TIME  # until one is told: before every clock
        self.signal = Signal()
        self.positions: dict[str, int] = {}
        self.watermarks = Watermarks(spec.watermark)

    def hear_clock(self, clock: TimestampLike | None) -> None:
        """Move the clock, never back."""
        if clock is not None:
            self.clock = max(self.clock, timestamp(clock))

    def hear_signal(self, signal: bool | None, finish: bool) -> None:
        """Take note of the caller's signal; what is said holds until the next word."""
        if signal is not None or finish:
            self.signal = Signal(self.signal.on if signal is None else signal, finish, said=signal is True)

    def hear_watermark(self, source: str | None, watermark: TimestampLike | None) -> None:
        """Take the caller's word for a watermark; where time is the clock or a position, there is nothing to say."""
        if watermark is not None and self._spec.window.domain is TimeDomain.EVENT:
            self.watermarks.explicit(source, timestamp(watermark))

    def reached(self, times: Ints | None) -> Timestamp:
        """The watermark that a step acts on, which brings records of these times."""
        own = watermark_of(self._spec, self.clock, times)
        return self.watermarks.current if own is None else own

    def acted(self) -> None:
        """A step has acted on what was heard: the signal is on or off now, and no news."""
        if self.signal.said:
            self.signal = replace(self.signal, said=False)

    def notes(self) -> dict[str, Any]:
        """All of it, in values that JSON can write and that nothing changes afterwards."""
        return {
            "clock": self.clock,
            "positions": dict(self.positions),
            "watermarks": self.watermarks.state(),
            "signal": [self.signal.on, self.signal.finish],
        }

    def restore(self, notes: dict[str, Any]) -> None:
        """Go on where `notes` were taken."""
        self.clock = notes["clock"]
        self.positions = dict(notes["positions"])
        self.watermarks.restore(notes["watermarks"])
        self.signal = Signal(*notes["signal"])
