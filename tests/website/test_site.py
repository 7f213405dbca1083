"""The site: every page is on it, every name is in the reference, and it builds without a warning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import fanlight

ROOT = Path(__file__).resolve().parents[2]
CONFIG = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_every_page_is_in_the_navigation() -> None:
    named = set(re.findall(r"[\w/-]+\.md", CONFIG[CONFIG.index("\nnav:") :]))
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    made = {name for name in named if name.startswith("reference/")} | {"notebook.md"}
    assert named == pages | made


SYSTEMS = sorted(path for path in (ROOT / "docs" / "coming-from").glob("*.md") if path.stem != "index")


@pytest.mark.parametrize("page", SYSTEMS, ids=lambda page: page.stem)
def test_whoever_comes_finds_words_and_code_beside_ours(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"^\| .* \| .* \|$", text, re.MULTILINE)) > 5
    assert "```text\n" in text
    assert "```python\n>>> " in text
    assert f"coming-from/{page.stem}.md" in CONFIG


def test_the_cookbook_has_enough_recipes() -> None:
    """What runs below a heading; the doctests run it."""
    recipes = re.split(r"^##+ ", (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert sum(">>> " in recipe for recipe in recipes) >= 45


@pytest.mark.slow
def test_it_builds_without_a_warning_and_has_every_public_name(tmp_path: Path) -> None:
    """Zensical says what it does not find: a page, a picture, an anchor, a name of the package."""
    config = yaml.safe_load(CONFIG)
    config |= {"docs_dir": "pages", "site_dir": "site"}  # beside the config
    python = config["plugins"][1]["mkdocstrings"]["handlers"]["python"]
    python["paths"] = [str(ROOT / "src")]
    python["options"]["extensions"] = [str(ROOT / "website" / "doctest_fences.py")]
    (tmp_path / "mkdocs.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    run([sys.executable, str(ROOT / "website" / "assemble.py"), str(tmp_path / "pages")], ROOT)
    zensical = str(Path(sys.executable).with_name("zensical"))
    run([zensical, "build", "--strict", "--config-file", str(tmp_path / "mkdocs.yml")], tmp_path)
    reference = "".join(
        path.read_text(encoding="utf-8") for path in sorted((tmp_path / "site" / "reference").glob("*.html"))
    )
    listed = {path.stem for path in (tmp_path / "pages" / "reference").glob("*.md")}
    assert listed == set(re.findall(r"reference/([\w-]+)\.md", CONFIG))
    missing = [name for name in fanlight.__all__ if f'id="fanlight.{name}"' not in reference]
    assert not missing, f"the reference has no entry for {', '.join(missing)}"


def run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
