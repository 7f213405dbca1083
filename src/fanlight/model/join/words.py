"""The words of a join that only rows of some matches can be joined with."""

from __future__ import annotations

from types import NoneType
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.join.as_of import AsOf
from fanlight.model.join.frames import Frames
from fanlight.model.join.interval import Interval
from fanlight.model.join.version import Version
from fanlight.model.join.window import SameWindow

_TAKEN_BY: dict[str, tuple[type, ...]] = {
    "combine": (Interval,),
    "retention": (Interval, AsOf, SameWindow, Version, Frames, NoneType),
    "spread": (Interval, AsOf, Version, NoneType),
    "ready": (AsOf, Version, NoneType),
}
"""Which kinds of match take a word; None is that of a table without a time."""
_ABOUT_TABLES = "ready"


def words_taken(match: object, **words: Any) -> dict[str, Any]:
    """The words that are said, None being none; one that `match` does not take is refused.

    >>> from fanlight.model.join.interval import interval
    >>> words_taken(interval("0 s", "5 s"), combine=None, spread="1 min")
    {'spread': '1 min'}
    """
    said = {word: value for word, value in words.items() if value is not None}
    for word, value in said.items():
        if isinstance(match, _TAKEN_BY[word]):
            continue
        if word == _ABOUT_TABLES:
            raise SpecError(
                f"join: `{word}` ({value}) holds rows until a table has caught up, and these rows match by another "
                "rule. Use it with version() or as_of(…), or leave it out."
            )
        raise SpecError(f"join: `{word}` ({value}) is about rows that match by an interval. Leave it out.")
    return said
