"""A process that writes batches, killed at any moment and started again: every batch is there once, and whole."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .mortal import committed
from .places import EVERY_PLACE, FIRED

pytestmark = pytest.mark.slow

KILLS = 200 if os.environ.get("HYPOTHESIS_PROFILE") == "thorough" else 5
"""Of each place; two hundred in `make thorough`."""
PATIENCE = 60
ROOT = Path(__file__).parents[3]


class Writers:
    """Processes that write batches, one at a time."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        assert server.stdin is not None
        assert server.stdout is not None
        self._ask, self._answer = server.stdin, server.stdout

    def run(self, kind: str, folder: Path, *, call: int = 0, after: float | None = None) -> int:
        """Let one write until it ends, or is killed: at a call, or after so many seconds; the code it ended with."""
        self._ask.write(f"{kind} {folder} {call}\n")
        self._ask.flush()
        process = int(self._answer.readline())
        if after is not None:
            time.sleep(after)
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return int(self._answer.readline())


@pytest.fixture(scope="module")
def writers() -> Iterator[Writers]:
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    program = [sys.executable, "-m", "tests.spark.sinks.mortal"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(program, env={**os.environ, "PYTHONPATH": path}, **pipes) as server:
        yield Writers(server)
        assert server.stdin is not None
        server.stdin.close()
        assert server.wait(PATIENCE) == 0


@pytest.mark.parametrize("kind", EVERY_PLACE)
def test_every_batch_is_there_once_however_often_the_process_is_killed(
    kind: str, writers: Writers, tmp_path: Path
) -> None:
    """Half of the kills are at a counted call, half at a moment from outside, which may be inside of one."""
    stages = stages_of(kind, tmp_path / "stages")
    calls, seconds = unharmed(kind, writers, tmp_path / "unharmed")
    draw = np.random.default_rng(list(kind.encode()))
    kills = rounds = 0
    while kills < KILLS:
        rounds += 1
        folder = tmp_path / f"round{rounds}"
        folder.mkdir()
        while not finished(folder):
            moment = {"after": draw.uniform(0, seconds)} if kills % 2 else {"call": draw.integers(1, calls // 2)}
            code = writers.run(kind, folder, **moment)
            assert code in (0, -signal.SIGKILL), "the writer failed; its traceback is above"
            kills += code != 0
            seen = EVERY_PLACE[kind](copied(folder, tmp_path / "seen")).content()
            assert seen in stages, "a reader sees a part of a batch, or one twice"
        assert seen == stages[-1]
        shutil.rmtree(folder)


def stages_of(kind: str, folder: Path) -> list[Any]:
    """What a reader may see: the place before the first batch and after each."""
    place = EVERY_PLACE[kind](folder)
    stages = [place.content()]
    for number in range(len(FIRED)):
        place.write(number)
        stages.append(place.content())
    return stages


def unharmed(kind: str, writers: Writers, folder: Path) -> tuple[int, float]:
    """How many calls a run has, and how many seconds it takes, which only says when to kill another."""
    for place in (folder / "first", folder / "second"):  # the first also waits for the imports
        place.mkdir(parents=True)
        start = time.monotonic()
        assert writers.run(kind, place) == 0
    return int((place / "calls").read_text()), time.monotonic() - start


def finished(folder: Path) -> bool:
    return committed(folder) == len(FIRED) - 1


def copied(folder: Path, seen: Path) -> Path:
    """The place for a look: opening a database is enough to repair it, and the next start is to do that itself."""
    shutil.rmtree(seen, ignore_errors=True)
    if (folder / "place").exists():
        shutil.copytree(folder / "place", seen)
    return seen
