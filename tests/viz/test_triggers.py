"""The page of triggers: its pictures are what the engine gives, and its code is that of its example."""

from __future__ import annotations

import re
from pathlib import Path

from fanlight.viz.pictures import pictures_of

from .drawing import read

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "triggers.py"
ROOM = ROOT / "docs" / "triggers"
PAGE = (ROOM / "README.md").read_text(encoding="utf-8")


def test_each_picture_is_what_the_engine_gives_today() -> None:
    """`make pictures` draws them anew."""
    drawn = pictures_of(EXAMPLE)
    assert sorted(drawn) == sorted(path.name for path in ROOM.glob("*.svg"))
    for name, document in drawn.items():
        assert (ROOM / name).read_text(encoding="utf-8") == document, f"docs/triggers/{name} is old: run make pictures"
        assert f"]({name})" in PAGE


def test_nothing_covers_anything() -> None:
    for document in pictures_of(EXAMPLE).values():
        drawing = read(document)
        assert drawing.collisions(drawing.bars()) == []
        assert drawing.collisions(drawing.text_boxes()) == []


def test_the_code_is_that_of_the_example() -> None:
    source = EXAMPLE.read_text(encoding="utf-8")
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        assert block.strip("\n") in source
