"""The recipes of the docs as modules, for a type checker: the examples of a page, one after the other."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))


def modules(folder: Path) -> list[str]:
    """Write a module for each page that has examples, and name them."""
    written = []
    for page in PAGES:
        lines = [line for example in kept(page) for line in example.source.splitlines(keepends=True)]
        if lines:
            name = "_".join(page.relative_to(ROOT).with_suffix("").parts).replace("-", "_")
            module = folder / f"{name}.py"
            module.write_text("".join(["from __future__ import annotations\n", *lines]), encoding="utf-8")
            written.append(str(module))
    return written


def kept(page: Path) -> Iterator[doctest.Example]:
    """The examples of a page, without those that show what is refused: a checker may refuse them as well."""
    for example in doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8")):
        if example.exc_msg is None:
            yield example
