"""Why two rows did or did not join: an answer in a word and in a sentence."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class JoinVerdict(Enum):
    """What became of a left row and a right row.

    >>> import fanlight as fl
    >>> fl.JoinVerdict("outside").name
    'OUTSIDE'
    """

    JOINED = "joined"
    """They match, and both were accepted."""
    OTHER_KEY = "other_key"
    """Their keys differ, or one is null."""
    OUTSIDE = "outside"
    """They are further apart than the interval allows."""
    CONDITION = "condition"
    """The condition of the join is not true of them."""
    LATE = "late"
    """One came behind the watermark of its side, or could only come so by now."""
    DEAD_LETTER = "dead_letter"
    """One could not be used for another reason."""
    TAKEN_BACK = "taken_back"
    """One was deleted by a change."""
    NEVER_CAME = "never_came"
    """One is not among the records of its side."""
    WAITING = "waiting"
    """One can still come, or both are here and wait to be complete."""
    FORGOTTEN = "forgotten"
    """Both may have joined: the state has passed them, and says nothing of them any more."""


@dataclass(frozen=True, slots=True)
class Why:
    """The answer of `why`: the verdict, and what is to be said of it. As text it is a sentence.

    >>> import fanlight as fl
    >>> str(fl.Why(fl.JoinVerdict.JOINED, "they match"))
    'joined: they match'
    """

    verdict: JoinVerdict
    told: str

    def __str__(self) -> str:
        return f"{self.verdict.value}: {self.told}"
