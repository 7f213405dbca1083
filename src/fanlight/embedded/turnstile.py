"""One caller at a time: a second thread, or a call from inside a call, is told so at once.

A lock would have to be released, and an interrupt between taking and releasing it would lock an operator for good. So
who is inside is noted with the frame of the call; a note whose frame is on no stack any more is a leftover, and the
next caller takes its place.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from types import FrameType
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from fanlight.errors import EngineError

_Given = ParamSpec("_Given")
_Back = TypeVar("_Back")
_INSIDE = "inside"


@dataclass(frozen=True, slots=True, eq=False)
class _Visit:
    """A call that is inside: which, of which thread, and its frame."""

    call: str
    thread: int
    frame: FrameType

    def goes_on(self) -> bool:
        """Whether the call is still on its thread's stack."""
        frame = sys._current_frames().get(self.thread)  # noqa: SLF001 -- the only way to see a thread's stack
        while frame is not None and frame is not self.frame:
            frame = frame.f_back
        return frame is not None


class Turnstile:
    """Lets one call in at a time."""

    def __init__(self) -> None:
        self._now: dict[str, _Visit] = {}
        self._deciding = threading.Lock()

    def enter(self, call: str) -> None:
        """Let the calling function in, or raise an `EngineError` that says who is inside."""
        visit = _Visit(call, threading.get_ident(), sys._getframe(1))  # noqa: SLF001 -- the caller's own frame
        found = self._now.setdefault(_INSIDE, visit)  # one step of the interpreter: of two threads, one is first
        if found is not visit:
            self._replace(found, visit)

    def leave(self) -> None:
        """The call is over."""
        self._now.pop(_INSIDE, None)

    @property
    def is_mine(self) -> bool:
        """Whether the calling thread is inside already: a hook, the downstream or an aggregate asks."""
        found = self._now.get(_INSIDE)
        return found is not None and found.thread == threading.get_ident() and found.goes_on()

    def _replace(self, found: _Visit, visit: _Visit) -> None:
        """Take the place of a call that was interrupted before it could leave; refuse to disturb any other."""
        with self._deciding:
            if self._now.get(_INSIDE) is found and not found.goes_on():
                self._now[_INSIDE] = visit
                return
        raise _refusal(found, visit)


class Attended(Protocol):
    """Something that is used by one caller at a time."""

    _turnstile: Turnstile

    def _recover(self) -> None:
        """Put in order what an interrupted call has left."""


_Own = TypeVar("_Own", bound=Attended)


def alone(method: Callable[Concatenate[_Own, _Given], _Back]) -> Callable[Concatenate[_Own, _Given], _Back]:
    """A method that nobody else may be inside with."""

    @wraps(method)
    def guarded(self: _Own, /, *given: _Given.args, **named: _Given.kwargs) -> _Back:
        self._turnstile.enter(method.__name__)
        try:
            self._recover()
            return method(self, *given, **named)
        finally:
            self._turnstile.leave()

    return guarded


def looking(method: Callable[[_Own], _Back]) -> Callable[[_Own], _Back]:
    """Like `alone`, but a hook, the downstream or an aggregate may ask it too."""
    guarded: Any = alone(method)

    @wraps(method)
    def look(self: _Own) -> _Back:
        back: _Back = method(self) if self._turnstile.is_mine else guarded(self)
        return back

    return look


def _refusal(found: _Visit, visit: _Visit) -> EngineError:
    if found.thread == visit.thread:
        return EngineError(
            f"{visit.call}: it was called inside `{found.call}` of the same operator, by a hook, the downstream or an "
            "aggregate. A step cannot begin within a step, and nothing was changed. Keep what it was to be called "
            f"with, and call it after `{found.call}` has returned."
        )
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return EngineError(
        f"{visit.call}: the thread {names.get(found.thread, found.thread)!r} is inside `{found.call}` of this "
        "operator, and two at once would lose records. Nothing was changed. Hold a lock of your own around every call, "
        "or give each thread an operator of its own."
    )
