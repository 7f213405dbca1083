"""The format's times: whole milliseconds, with `inf` for the end of time."""

from __future__ import annotations

from typing import Any

from fanlight.errors import VectorError
from fanlight.model.time.duration import Duration
from fanlight.model.time.timestamp import END_OF_TIME, START_OF_TIME, Timestamp

_MICROS = 1_000
_ENDS = {"inf": END_OF_TIME, "-inf": START_OF_TIME}
_NAMES = {moment: name for name, moment in _ENDS.items()}


def moment(value: Any) -> Timestamp:
    """A point in time as written, in microseconds.

    >>> moment(5), moment("inf") == END_OF_TIME
    (5000, True)
    """
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        value = str(value)
    if isinstance(value, str) and value in _ENDS:
        return _ENDS[value]
    if isinstance(value, int) and not isinstance(value, bool):
        return value * _MICROS
    raise VectorError(f"time {value!r} is neither whole milliseconds nor `inf`.")


def length(value: Any) -> Duration:
    """A length of time as written; `inf` lasts forever.

    >>> length(5), length("inf").is_forever
    (Duration('5 ms'), True)
    """
    micros = moment(value)
    return Duration.FOREVER if micros == END_OF_TIME else Duration(micros)


def written(micros: Timestamp) -> int | float | str:
    """A point in time as the format writes it; what is no whole millisecond shows its fraction.

    >>> written(5000), written(5001), written(END_OF_TIME)
    (5, 5.001, 'inf')
    """
    if micros in _NAMES:
        return _NAMES[micros]
    return micros // _MICROS if micros % _MICROS == 0 else micros / _MICROS
