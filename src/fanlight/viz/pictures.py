"""The pictures of the docs, drawn by the examples they show.

An example that draws has a dict `PICTURES`: an SVG document for each file name.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from fanlight.errors import InputError


def pictures_of(example: Path) -> dict[str, str]:
    """What an example draws, by file name. Its `__main__` part does not run, so it prints nothing."""
    drawn = runpy.run_path(str(example), run_name=example.stem).get("PICTURES")
    if not isinstance(drawn, dict) or not drawn:
        raise InputError(f"pictures: {example} has no PICTURES. Give it a dict of SVG documents by file name.")
    return drawn


def write_pictures(examples: Path, folder: Path) -> list[Path]:
    """Draw what `examples` (a file, or all files of a folder) show into `folder`; the files that changed."""
    changed = []
    for example in sorted(examples.glob("*.py")) if examples.is_dir() else [examples]:
        for name, document in pictures_of(example).items():
            target = folder / name
            if not target.exists() or target.read_text(encoding="utf-8") != document:
                target.write_text(document, encoding="utf-8", newline="\n")
                changed.append(target)
    return changed
