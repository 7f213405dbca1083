"""Ctrl-C at a chosen place: the n-th line of the package that runs, and once more while that is being put in order."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import fanlight

_PACKAGE = str(Path(fanlight.__file__).parent)
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE")


def lines(apart: int) -> range:
    """The lines to interrupt at: so far apart, each in `make thorough`, and in `make quick` one in eleven of these."""
    return range(1, 10**6, {"thorough": 1, "quick": 11 * apart}.get(_PROFILE or "", apart))


class CtrlC:
    """Raises `KeyboardInterrupt` at the `line`-th line that runs, and `again` calls and returns later once more."""

    def __init__(self, line: int, again: int | None = None) -> None:
        self._line = line
        self._again = again
        self.lines = 0
        """How many lines of the package have run."""

    def during(self, work: Callable[[], object]) -> bool:
        """Whether `work` was interrupted."""
        sys.settrace(self._trace)
        try:
            work()
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
            sys.setprofile(None)
        return False

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self._line:
                if self._again is not None:
                    sys.setprofile(self._profile)
                raise KeyboardInterrupt
        return self._trace

    def _profile(self, frame: FrameType, event: str, arg: Any) -> None:
        is_generator = frame.f_code.co_flags & inspect.CO_GENERATOR  # what is raised while one is closed goes nowhere
        if self._again is not None and not is_generator and frame.f_code.co_filename.startswith(_PACKAGE):
            self._again -= 1
            if self._again == 0:
                raise KeyboardInterrupt
