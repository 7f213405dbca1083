"""A writer of batches to be killed: `python -m tests.spark.sinks.mortal` forks one for each line it reads.

    in:   KIND FOLDER MOMENT     out:   the process, then the code it ended with

Everything is imported once, so that a kill takes milliseconds.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from fanlight.sinks.files import replace

from .places import EVERY_PLACE, FIRED, Place


def deliver(kind: str, folder: Path, moment: int) -> None:
    """Hand over the batches behind the last that is committed, as Spark does; die at the call that `moment` counts."""
    calls = 0

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    place: Place = EVERY_PLACE[kind](folder / "place")
    sys.setprofile(count)
    for number in range(committed(folder) + 1, len(FIRED)):
        place.sink.check(place.batch(number))
        place.write(number)
        replace(folder / "committed", str(number))
    sys.setprofile(None)
    (folder / "calls").write_text(str(calls))


def committed(folder: Path) -> int:
    """The last batch whose end was noted outside of the place, as Spark notes it in its checkpoint."""
    note = folder / "committed"
    return int(note.read_text()) if note.exists() else -1


def answer(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        kind, folder, moment = line.split()
        process = os.fork()
        if process == 0:
            deliver(kind, Path(folder), int(moment))
            os._exit(0)
        answer(process)
        answer(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))


if __name__ == "__main__":
    main()
