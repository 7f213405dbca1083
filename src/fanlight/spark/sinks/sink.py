"""What every sink answers to, and how it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Protocol

from fanlight.errors import SinkError
from fanlight.spark.sinks.batch import Leaving, Part
from fanlight.spark.sinks.shown import Secrets

_NO_SECRETS = Secrets()


class Sink(Protocol):
    """One place, and the parts of a result that go there together."""

    guarantee: ClassVar[str]
    """What a reader of the place may rely on, in words that the docs repeat."""
    on_executors: ClassVar[bool]
    """Whether the frame itself is written, several times over, rather than collected once."""

    @property
    def places(self) -> dict[Part, str]:
        """Where each part goes, as a user would write it; nothing secret."""
        ...

    def check(self, leaving: Leaving) -> None:
        """Refuse a batch that does not follow what the place holds, before any sink has written.

        Called with the first batch of a start; `write` refuses the same, for its own place.
        """
        ...

    def write(self, leaving: Leaving) -> None:
        """Take the batch, whole or not at all; a batch that is there already is left as it is."""
        ...


@contextmanager
def blamed(
    place: str, number: int, kinds: tuple[type[Exception], ...], remedy: str, secrets: Secrets = _NO_SECRETS
) -> Iterator[None]:
    """Turn what a place raises into a `SinkError` that says which batch it refused and what to do.

    Drivers repeat what they were given, so `secrets` are taken out of what they say. Where there were any, their own
    exception is not shown behind this one either.
    """
    try:
        yield
    except kinds as problem:
        told = secrets.out_of(first_line(problem))
        whole = str(problem)
        raise SinkError(
            f"write_to: {place} did not take batch {number}: {told}. Nothing of the batch was written there. "
            f"{remedy} Then start the query again: it repeats the batch."
        ) from (problem if secrets.out_of(whole) == whole else None)


def first_line(problem: Exception) -> str:
    """The sentence that says what is wrong: of what a JVM wraps in itself the innermost, and without its stack."""
    text = str(problem)
    raised = getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)
    while raised is not None:
        text, raised = str(raised.toString()), raised.getCause()
    lines = text.strip().splitlines()
    return lines[0].rstrip(".") if lines else type(problem).__name__
