"""The recipes of the README, run as it says: from a file of one's own to a picture, from a topic to a table."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .servers import Server

pytestmark = [pytest.mark.slow, pytest.mark.integration]

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
_SECONDS = 170


def command(script: str) -> list[str]:
    """The command of the README that runs a script, with this Python."""
    (line,) = re.findall(rf"^.*\.venv/bin/python {re.escape(script)} .*$", README, flags=re.MULTILINE)
    words = shlex.split(line, comments=True)
    start = words.index(".venv/bin/python")
    return [sys.executable, *words[start + 1 :]]


def run(words: list[str], folder: Path, **environment: str) -> str:
    """What a program prints; it is ended with all that it started if it takes too long."""
    (folder / "examples").symlink_to(ROOT / "examples")
    with subprocess.Popen(
        words,
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as program:
        try:
            told, noise = program.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, 9)
            raise
    assert program.returncode == 0, noise[-4000:]
    return told


def test_from_a_csv_file_to_windows_and_a_picture(tmp_path: Path) -> None:
    told = run(command("examples/own_csv.py"), tmp_path).splitlines()
    assert told[1] == "2026-03-01 12:00:00 to 12:05:00  tea  n=3 total=9.0"
    assert told[-2] == "not counted, expired: 2026-03-01 12:02:00+00:00, tea, 9.0"
    picture = (tmp_path / "orders.svg").read_text()
    assert picture.startswith("<svg")
    assert picture.endswith("</svg>\n")
    assert "total=9" in picture


def test_from_a_topic_of_kafka_to_a_table_of_postgresql(tmp_path: Path, servers: dict[str, Server]) -> None:
    """Five orders, one out of order; the recipe starts the broker and ends it."""
    server = servers["postgresql"]
    given = {"--postgres": server.url, "--user": server.properties["user"]}
    words = command("examples/kafka_to_postgres/run.py")
    for option, value in given.items():
        words[words.index(option) + 1] = value
    told = run(words, tmp_path, PGPASSWORD=server.properties["password"])
    cells = [re.split(r"\s*\|\s*", line.strip("| ")) for line in told.splitlines() if line.startswith("|2026")]
    assert cells == [
        ["2026-03-01 12:00:00", "coffee", "1", "4.50"],
        ["2026-03-01 12:00:00", "tea", "2", "6.50"],
        ["2026-03-01 12:01:00", "tea", "1", "2.50"],
        ["2026-03-01 12:02:00", "coffee", "1", "5.00"],
    ]
