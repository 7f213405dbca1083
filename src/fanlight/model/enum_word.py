"""Read a word that a user wrote as a member of an enum."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from fanlight.errors import SpecError

E = TypeVar("E", bound=Enum)


def choice(kind: type[E], value: E | str, field: str) -> E:
    """The member of `kind` that `value` is or names.

    >>> from fanlight.model.firing import FiringTime
    >>> choice(FiringTime, "latest", "stamped")
    <FiringTime.LATEST: 'latest'>
    """
    try:
        return kind(value)
    except ValueError:
        words = ", ".join(str(member.value) for member in kind)
        raise SpecError(f"{field}: {value!r} is not one of {words}. Use one of them.") from None
