"""Every link of the pages leads to a file that is there, and to a heading of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ALONE = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "tests/vectors/README.md", "tests/recorded/README.md")
PAGES = [*(ROOT / name for name in ALONE), *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?P<to>[^):#\s]*)(?:#(?P<heading>[^)\s]+))?\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.finditer(shown(page)):
        target = page.parent / link["to"] if link["to"] else page
        assert target.exists(), f"{page.name} links to {link['to']}, which is not there"
        if link["heading"]:
            assert link["heading"] in headings(target), f"{link['to'] or page.name} has no heading #{link['heading']}"


def shown(page: Path) -> str:
    """A page without its code, in which brackets mean something else."""
    return re.sub(r"^```.*?^```$|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def headings(page: Path) -> set[str]:
    """The names that GitHub and the site give to the headings of a page; the second of one name ends in 1."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    names: list[str] = []
    for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE):
        name = re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", heading).lower()).strip().replace(" ", "-")
        names.append(f"{name}-{names.count(name)}" if name in names else name)
    return set(names)
