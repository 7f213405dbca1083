"""The recipes of the docs as modules, for a type checker: the examples of a page, one after the other."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
PASTED = ROOT / "docs" / "tutorial.md"
"""Its blocks are pasted one after the other; they have no prompts."""
NOTEBOOK = ROOT / "examples" / "first_hour.ipynb"


def modules(folder: Path) -> list[str]:
    """Write a module for each page that has examples and for the notebook, and name them."""
    sources = {page: examples(page) for page in PAGES} | {PASTED: pasted(PASTED), NOTEBOOK: cells(NOTEBOOK)}
    written = []
    for page, source in sources.items():
        if source:
            name = "_".join(page.relative_to(ROOT).with_suffix("").parts).replace("-", "_")
            module = folder / f"{name}.py"
            module.write_text(f"from __future__ import annotations\n{source}", encoding="utf-8")
            written.append(str(module))
    return written


def examples(page: Path) -> str:
    """The examples of a page, without those that show what is refused: a checker may refuse them as well."""
    found = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"))
    return "".join(example.source for example in found if example.exc_msg is None)


def pasted(page: Path) -> str:
    """The blocks of Python of a page."""
    return "\n".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))


def cells(notebook: Path) -> str:
    """The cells of a notebook that are code."""
    found = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n".join("".join(cell["source"]) for cell in found if cell["cell_type"] == "code") + "\n"
