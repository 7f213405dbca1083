"""A bar on long work, for somebody who looks."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import fanlight as fl

CODE = """
import sys
import threading
import fanlight as fl

shown = threading.Event()

def slowly():
    for second in range(4):
        yield {"ts": second}
        shown.wait(float(sys.argv[1]))

print(len(fl.stream(slowly(), time="ts", unit="s", delay="0 s", rows=1).sort().table(progress=eval(sys.argv[2]))))
"""


def told_on_a_terminal(pause: float, progress: str) -> tuple[str, str]:
    """What comes out, and what a terminal shows on stderr."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", CODE, str(pause), progress]
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=True, text=True)
    os.close(theirs)
    pieces: list[bytes] = []
    try:
        while piece := os.read(ours, 4096):
            pieces.append(piece)
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    return said.stdout, b"".join(pieces).decode()


@pytest.mark.slow
class TestOnATerminal:
    def test_it_is_shown_at_once_if_it_is_wanted(self) -> None:
        out, seen = told_on_a_terminal(0.2, "True")
        assert out == "4\n"
        assert "records" in seen

    def test_it_is_not_shown_for_short_work(self) -> None:
        assert told_on_a_terminal(0.0, "None") == ("4\n", "")

    def test_or_if_it_is_not_wanted(self) -> None:
        assert told_on_a_terminal(0.2, "False") == ("4\n", "")


def test_in_a_pipe_nothing_is_shown(tmp_path: Path) -> None:
    told = subprocess.run([sys.executable, "-c", CODE, "0.05", "True"], capture_output=True, check=True, text=True)
    assert (told.stdout, told.stderr) == ("4\n", "")


def test_what_is_raised_passes_through() -> None:
    with pytest.raises(fl.InputError):
        fl.stream([1, 2], time="ts").sort().table(progress=True)  # type: ignore[list-item]
