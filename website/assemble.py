"""Put the pages of the site together: those of `docs`, and those made from other files.

    python website/assemble.py build/pages

The API reference, the examples, the notebook, the changelog and its like become pages, and links out of `docs` lead to
these.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path, PurePosixPath
from typing import Any

import fanlight

ROOT = Path(__file__).parents[1]
BESIDE = (
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/RESULTS.md",
    "tests/vectors/README.md",
    "tests/recorded/README.md",
)
"""Pages that stand elsewhere in the repository, and are linked to."""
PICTURES = ("benchmarks/growth.png", "benchmarks/state.png")
TEXTS = ("LICENSE",)
"""Files that are linked to, and shown as they are."""
NOTEBOOK = "examples/first_hour.ipynb"
"""Shown with what its cells gave when it was run last."""

ROOMS = {
    "Where pipelines begin": ("fanlight.inputs", "fanlight.union", "fanlight.stream", "fanlight.operators.ingest"),
    "Windows": ("fanlight.model.windows", "fanlight.windowed"),
    "Triggers": ("fanlight.model.triggers", "fanlight.model.firing"),
    "Aggregates": ("fanlight.model.aggregates",),
    "Rows in order": ("fanlight.model.over", "fanlight.model.order_by", "fanlight.over"),
    "Joins": ("fanlight.model.join", "fanlight.joins"),
    "Time": ("fanlight.model.time",),
    "Results": ("fanlight.result", "fanlight.row_result", "fanlight.over_result", "fanlight.operators.accounting"),
    "Operators by hand": ("fanlight.embedded",),
    "Errors": ("fanlight.errors",),
    "Everything else": ("fanlight",),
}
"""The pages of the reference; a name is on the first one whose modules hold it."""

LINK = re.compile(r"\]\((?P<to>[^):#\s]+)(?P<anchor>#[^)\s]*)?\)")


def main() -> None:
    """Write every page below the folder that is named."""
    (folder,) = map(Path, sys.argv[1:])
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    for name in PICTURES:
        _write(folder / "beside" / name, (ROOT / name).read_bytes())
    for page in sorted(folder.rglob("*.md")):
        there = PurePosixPath("docs") / page.relative_to(folder).as_posix()
        _write(page, _relinked(page.read_text(encoding="utf-8"), there).encode())
    for name in BESIDE:
        text = _relinked((ROOT / name).read_text(encoding="utf-8"), PurePosixPath(name))
        _write(folder / _page_of(name), text.encode())
    for name, text in {**_reference(), **_examples(), **_texts(), **_notebook()}.items():
        _write(folder / name, text.encode())


def _relinked(text: str, name: str | PurePosixPath) -> str:
    """The text of a file of the repository, with links as they are on the site."""
    there = PurePosixPath(name).parent
    here = PurePosixPath(_page_of(str(name))).parent

    def moved(link: re.Match[str]) -> str:
        target = _page_of(os.path.normpath(there / link["to"]))
        return f"]({os.path.relpath(target, here)}{link['anchor'] or ''})"

    return LINK.sub(moved, text)


def _page_of(path: str) -> str:
    """The page that shows a file of the repository."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    if path == "README.md":
        return "index.md"
    if path == NOTEBOOK:
        return "notebook.md"
    return f"beside/{path}" if path.endswith((".md", ".png", ".svg")) else f"beside/{path}.md"


def _examples() -> dict[str, str]:
    """Every example as a page."""
    pages = {}
    for path in sorted((ROOT / "examples").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        pages[_page_of(name)] = f"# {path.stem}\n\n`{name}`\n\n```python\n{path.read_text(encoding='utf-8')}```\n"
    return pages


def _texts() -> dict[str, str]:
    return {_page_of(name): f"# {name}\n\n```text\n{(ROOT / name).read_text(encoding='utf-8')}```\n" for name in TEXTS}


def _notebook() -> dict[str, str]:
    """The notebook as a page: what it says, its cells, and what they gave."""
    cells = json.loads((ROOT / NOTEBOOK).read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        source = "".join(cell["source"])
        parts += [source] if cell["cell_type"] == "markdown" else [f"```python\n{source}\n```"]
        parts += [_given(output) for output in cell.get("outputs", [])]
    return {_page_of(NOTEBOOK): _relinked("\n\n".join(parts) + "\n", NOTEBOOK)}


def _given(output: dict[str, Any]) -> str:
    """What a cell gave: as a page where there is one, else as text."""
    given = output.get("data", {"text/plain": output.get("text", "")})
    if "text/html" in given:
        return f'<div class="given">{"".join(given["text/html"])}</div>'
    return f"```text\n{''.join(given['text/plain'])}\n```"


def _reference() -> dict[str, str]:
    """A page for each room, with all its public names, words before classes, and one that lists them."""
    rooms: defaultdict[str, list[str]] = defaultdict(list)
    for name in sorted(fanlight.__all__, key=lambda name: (isinstance(getattr(fanlight, name), type), name.lower())):
        module = getattr(getattr(fanlight, name), "__module__", None) or "fanlight"
        room = next(room for room, modules in ROOMS.items() if f"{module}.".startswith(tuple(f"{m}." for m in modules)))
        rooms[room].append(name)
    pages = {}
    index = ["# Reference", "", "Every public name of `fanlight`, from its docstring. The examples run in CI.", ""]
    for room in (room for room in ROOMS if room in rooms):
        page = f"{room.lower().replace(' ', '-')}.md"
        names = ", ".join(f"[`{name}`]({page}#fanlight.{name})" for name in rooms[room])
        index += [f"## [{room}]({page})", "", names, ""]
        entries = "\n\n".join(f"::: fanlight.{name}" for name in rooms[room])
        pages[f"reference/{page}"] = f"# {room}\n\n{entries}\n"
    return {"reference/index.md": "\n".join(index), **pages}


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    main()
