"""Lengths of time: whole microseconds, read from the forms that people write."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import ClassVar, Self

from fanlight.errors import SpecError

_MICROS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}

_UNITS = {
    **dict.fromkeys(("us", "µs", "micro", "micros", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "week", "weeks"), "w"),
}

_PART = re.compile(r"\s*(\d+)(?:\.(\d{1,6}))?\s*([a-zµ]+)\s*")
_ISO = re.compile(
    r"P(?:(?P<w>\d+)W)?(?:(?P<d>\d+)D)?"
    r"(?:T(?:(?P<h>\d+)H)?(?:(?P<min>\d+)M)?(?:(?P<s>\d+)(?:\.(?P<fraction>\d{1,6}))?S)?)?"
)

_CAPITAL_M = re.compile(r"\d\s*M(?![a-zA-Zµ])")
"""A month in one notation, a minute in another."""

_CALENDAR = ("month", "quarter", "year")

_FOREVER = 2**63 - 1


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in whole microseconds; negative only where an offset allows it.

    >>> Duration.of("10 minutes")
    Duration('10 min')
    >>> Duration.of("PT1H30M") == Duration.of("1 h 30 min")
    True
    >>> Duration.of("10 parsecs")
    Traceback (most recent call last):
        ...
    fanlight.errors.SpecError: Duration: 'parsecs' in '10 parsecs' is not a unit. \
Use us, ms, s, min, h, d or w, as in '10 minutes', or ISO 8601 as in 'PT10M'.
    """

    micros: int
    FOREVER: ClassVar[Duration]

    @classmethod
    def of(cls, value: DurationLike) -> Self:
        """Read a duration from text, a `timedelta` or another duration."""
        if isinstance(value, Duration):
            return cls(value.micros)
        if isinstance(value, timedelta):
            return cls(value // timedelta(microseconds=1))
        if isinstance(value, str):
            return cls(_parse(value))
        raise SpecError(
            f"Duration: {value!r} is a {type(value).__name__}, which says no unit. "
            "Write the unit, as in '10 minutes', or pass a timedelta."
        )

    @property
    def is_forever(self) -> bool:
        """Whether this duration never ends."""
        return self.micros == _FOREVER

    def __str__(self) -> str:
        if abs(self.micros) == _FOREVER:
            return "forever" if self.is_forever else "-forever"
        for unit, micros in reversed(_MICROS.items()):
            if self.micros % micros == 0 and self.micros:
                return f"{self.micros // micros} {unit}"
        return "0 s"

    def __repr__(self) -> str:
        return f"Duration({str(self)!r})"


Duration.FOREVER = Duration(_FOREVER)

ZERO = Duration(0)

DurationLike = Duration | timedelta | str
"""What a user may write where a duration is wanted."""


def require_length(kind: str, field: str, value: Duration) -> None:
    """Refuse a window without length, or without end."""
    if value.micros <= 0 or value.is_forever:
        raise SpecError(
            f"{kind}: `{field}` ({value}) must be a length above zero; a window without length holds no record. "
            f"Use a positive duration such as '1 minute', or Global for one window without end."
        )


def _parse(text: str) -> int:
    body, sign = text.strip(), 1
    if body.startswith(("-", "+")):
        body, sign = body[1:].lstrip(), -1 if body[0] == "-" else 1
    if body.lower() == "forever":
        return sign * _FOREVER
    if body.startswith("P"):
        return sign * _parse_iso(body, text)
    if _CAPITAL_M.search(body):
        raise SpecError(
            f"Duration: 'M' in {text!r} may be a month or a minute. Write 'min' for minutes, as in '5 min'; months "
            "have no fixed length, and fl.calendar('month') is for windows of months."
        )
    return sign * _parse_parts(body.lower(), text)


def _parse_iso(body: str, text: str) -> int:
    match = _ISO.fullmatch(body)
    if match is None or not any(match.groups()):
        raise SpecError(
            f"Duration: {text!r} is not an ISO 8601 duration of weeks, days, hours, minutes and "
            "seconds. Write it as in 'PT10M' or '10 minutes'; months and years have no fixed length: for windows of "
            "these use fl.calendar('month')."
        )
    micros = sum(int(match[unit] or 0) * _MICROS[unit] for unit in ("w", "d", "h", "min", "s"))
    return micros + int((match["fraction"] or "0").ljust(6, "0"))


def _parse_parts(body: str, text: str) -> int:
    total, place = 0, 0
    while place < len(body):
        match = _PART.match(body, place)
        if match is None:
            break
        whole, fraction, unit = match.groups()
        if unit.removesuffix("s") in _CALENDAR:
            raise SpecError(
                f"Duration: {unit!r} in {text!r} has no fixed length. For windows of months, quarters or years use "
                f"fl.calendar({unit.removesuffix('s')!r}), with a zone if need be; for a length of time, days, as in "
                "'30 days'."
            )
        if unit not in _UNITS:
            raise SpecError(
                f"Duration: {unit!r} in {text!r} is not a unit. Use us, ms, s, min, h, d or w, "
                "as in '10 minutes', or ISO 8601 as in 'PT10M'."
            )
        micros = _MICROS[_UNITS[unit]]
        total += int(whole) * micros + int((fraction or "0").ljust(6, "0")) * micros // 1_000_000
        place = match.end()
    if place < len(body) or not body:
        raise SpecError(
            f"Duration: {text!r} cannot be read. Write a number and a unit, as in '10 minutes', "
            "or ISO 8601 as in 'PT10M'."
        )
    return total
