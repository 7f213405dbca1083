"""The protocol of sinks, and how they report failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Protocol

from fanlight.errors import SinkError
from fanlight.sinks.batch import Part
from fanlight.sinks.delivery import Delivery
from fanlight.sinks.shown_address import Secrets

_NO_SECRETS = Secrets()


class Sink(Protocol):
    """One place, and the parts of a result that go there together."""

    guarantee: ClassVar[str]
    """What readers of the place can rely on, in words that the docs repeat."""
    sees_all: ClassVar[bool]
    """Whether it is handed all parts of the batch, wherever they go."""

    @property
    def places(self) -> dict[Part, str]:
        """Where each part goes, as a user would write it; nothing secret."""
        ...

    def check(self, delivery: Delivery) -> None:
        """Refuse a batch that does not follow what the place holds, before any sink has written.

        Called with the first batch of a start; `write` refuses the same, for its own place.
        """
        ...

    def write(self, delivery: Delivery) -> None:
        """Take the batch, whole or not at all; a batch that is there already is left as it is."""
        ...


@contextmanager
def blamed(
    place: str, number: int, kinds: tuple[type[Exception], ...], remedy: str, secrets: Secrets = _NO_SECRETS
) -> Iterator[None]:
    """Turn an exception of a place into a `SinkError` that says which batch failed and what to do.

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
    """The first line of an error: for the JVM, that of the innermost exception, without its stack."""
    text = str(problem)
    raised = getattr(problem, "java_exception", None) or getattr(problem, "_origin", None)
    while raised is not None:
        text, raised = str(raised.toString()), raised.getCause()
    lines = text.strip().splitlines()
    return lines[0].rstrip(".") if lines else type(problem).__name__
