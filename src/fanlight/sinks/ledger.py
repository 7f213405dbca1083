"""The ledger of a place: the newest batch of a query, and the rule about which batch may come next.

    newest 4 │ 5  is written
             │ 4  is a repeat, and skipped; refused, if it reads other offsets than the 4 that is there
             │ 3  is refused: the checkpoint is older than the place
             │ 6  is refused: 5 is missing from the place
      (none) │ 0  is written; any other is refused

Spark numbers the batches of a checkpoint 0, 1, 2 … and repeats none but the last, with the offsets that it noted before
the first attempt. Every place notes every batch, empty ones too. So any other number means that the checkpoint and the
place do not belong together.
"""

from __future__ import annotations

from dataclasses import dataclass

from fanlight.errors import SinkError, SpecError

REFUSE, ACCEPT = "refuse", "accept"


@dataclass(frozen=True, slots=True)
class Ledger:
    """The newest batch of a query at a place; None if the place knows nothing of the query."""

    place: str
    query: str
    newest: int | None
    offsets: int | None = None
    """What tells the newest batch from another of the same number: a digest of what it read, where that is known."""

    def takes(self, number: int, *, accepts: bool = False, offsets: int | None = None) -> bool:
        """Whether the batch is to be written: False for a repeat, a `SinkError` for one that does not follow.

        With `accepts` that one is written too. Called before anything is written.

        >>> ledger = Ledger("totals.jsonl", "q", 4)
        >>> ledger.takes(5), ledger.takes(4)
        (True, False)
        """
        if number == self.newest and (offsets == self.offsets or None in (offsets, self.offsets)):
            return False
        if not self.follows(number) and not accepts:
            raise self.refused(number, self._difference(number))
        return True

    def follows(self, number: int) -> bool:
        """Whether the batch is the next one."""
        return number == (0 if self.newest is None else self.newest + 1)

    def refused(self, number: int, difference: str) -> SinkError:
        """The error for a place and a checkpoint that do not belong together, with the remedies."""
        there = "empty" if number == 0 else f"as it was after batch {number - 1}"
        checkpoint = "" if self.newest is None else f", or the checkpoint as it was after batch {self.newest}"
        return SinkError(
            f"write_to: {self.place} did not take batch {number} of query {self.query!r}: {difference} "
            f"Nothing was written. Put back the place {there}{checkpoint}. Or begin anew: another checkpoint and "
            'another place. Or go on on purpose: start once with on_mismatch="accept", which takes this batch as it '
            "is; docs/sinks.md says what each place then holds."
        )

    def _difference(self, number: int) -> str:
        if self.newest is None:
            return (
                f"it knows nothing of this query, and the checkpoint has come to batch {number}. So {_some(0, number)} "
                "would be missing here: what was there was removed, or the place is new to the query."
            )
        if number == self.newest:
            return (
                f"it holds a batch {number} already that read other offsets: the checkpoint was put back by one batch. "
                "So what is new in this one would be skipped as a repeat."
            )
        if number < self.newest:
            return (
                f"its newest batch is {self.newest}, and the checkpoint has come to {number} only: it was put back. "
                f"So {_some(number, self.newest + 1)} would come a second time, perhaps with other content."
            )
        return (
            f"its newest batch is {self.newest}, and the checkpoint has come to {number}. So "
            f"{_some(self.newest + 1, number)} would be missing here: the place was put back, or left out for a while."
        )


def accepting(on_mismatch: str) -> bool:
    """Whether a start takes a first batch that does not follow what a place holds."""
    if on_mismatch not in (REFUSE, ACCEPT):
        raise SpecError(f"write_to: `on_mismatch` ({on_mismatch!r}) is neither {REFUSE!r} nor {ACCEPT!r}. Use one.")
    return on_mismatch == ACCEPT


def _some(first: int, end: int) -> str:
    """The batches from `first` to before `end`, in words."""
    return f"batch {first}" if end - first == 1 else f"batches {first} to {end - 1}"
