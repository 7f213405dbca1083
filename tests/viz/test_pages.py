"""Every kind of window has a page, a picture the engine drew, and an example that runs; and they say the same."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fanlight as fl
from fanlight.errors import InputError
from fanlight.model.document_words import WORDS
from fanlight.model.windows.kind import WindowKind
from fanlight.viz.__main__ import main
from fanlight.viz.pictures import pictures_of, write_pictures
from fanlight.viz.words import labelled

from .drawing import read

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "windows").glob("*.md"))
KINDS = [page for page in PAGES if page.stem != "README"]
EXAMPLES = sorted((ROOT / "examples" / "windows").glob("*.py"))
COMMITTED = sorted(path.name for path in (ROOT / "docs" / "windows").glob("*.svg"))


def named(path: Path) -> str:
    return path.stem


def written(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", written(page), re.DOTALL)


def links(page: Path) -> list[str]:
    return re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", written(page))


def examples_of(page: Path) -> list[Path]:
    return [(page.parent / link).resolve() for link in links(page) if link.endswith(".py")]


@pytest.fixture(scope="module", params=EXAMPLES, ids=named)
def example(request: pytest.FixtureRequest) -> tuple[Path, dict[str, Any]]:
    return request.param, runpy.run_path(str(request.param), run_name=request.param.stem)


class TestPictures:
    def test_each_is_what_the_engine_gives_today(self, example: tuple[Path, dict[str, Any]]) -> None:
        """`make pictures` draws them anew."""
        for name, document in example[1]["PICTURES"].items():
            committed = (ROOT / "docs" / "windows" / name).read_text(encoding="utf-8")
            assert committed == document, f"docs/windows/{name} is old: run make pictures"

    def test_every_row_of_the_pipelines_is_in_them(self, example: tuple[Path, dict[str, Any]]) -> None:
        path, names = example
        shown = {text for document in names["PICTURES"].values() for text in read(document).texts}
        results = [value for value in names.values() if isinstance(value, fl.Result)]
        assert results, f"{path.name} declares no pipeline"
        for result in results:
            for row in result.table().to_pylist():
                assert labelled({name: row[name] for name, _ in result.spec.aggregates}) in shown

    def test_nothing_covers_anything(self, example: tuple[Path, dict[str, Any]]) -> None:
        for document in example[1]["PICTURES"].values():
            drawing = read(document)
            assert drawing.collisions(drawing.bars()) == []
            assert drawing.collisions(drawing.records()) == []
            assert drawing.collisions(drawing.text_boxes()) == []
            assert list(drawing.outside()) == []

    def test_none_is_left_over(self) -> None:
        assert sorted(name for path in EXAMPLES for name in pictures_of(path)) == COMMITTED

    def test_each_is_on_a_page_that_says_what_it_shows(self) -> None:
        shown = {
            name: alt for page in PAGES for alt, name in re.findall(r"!\[([^\]]*)\]\(([^)]+\.svg)\)", written(page))
        }
        assert sorted(shown) == COMMITTED
        assert all(len(alt.split()) >= 4 for alt in shown.values())


class TestExamples:
    def test_each_runs_and_prints_what_came_out(
        self, example: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
    ) -> None:
        path, names = example
        runpy.run_path(str(path), run_name="__main__")
        lines = capsys.readouterr().out.splitlines()
        rows = sum(len(value.table()) for value in names.values() if isinstance(value, fl.Result))
        assert len(lines) >= rows > 0

    def test_one_runs_as_a_user_runs_it(self) -> None:
        """Beside files called `calendar…` and `counting`, which must not hide modules of others."""
        run = subprocess.run(
            [sys.executable, ROOT / "examples" / "windows" / "tumbling.py"], capture_output=True, text=True, check=True
        )
        assert run.stdout.splitlines()[0] == "12:00-12:10 coffee 1 4.5 ON_TIME +I"

    def test_none_hides_a_module_of_python(self) -> None:
        assert not {path.stem for path in EXAMPLES} & sys.stdlib_module_names


OWN_KINDS = [kind for kind in WORDS.values() if issubclass(kind, WindowKind)]


class TestPages:
    @pytest.mark.parametrize("kind", OWN_KINDS, ids=lambda kind: kind.__name__)
    def test_every_kind_has_one(self, kind: type) -> None:
        name = kind.__name__.lower()
        if name == "same":  # the windows of the stage before: no kind that a user declares
            return
        page = ROOT / "docs" / "windows" / f"{name}.md"
        assert page in PAGES
        assert f"({page.name})" in written(page.parent / "README.md")

    @pytest.mark.parametrize("page", KINDS, ids=named)
    def test_the_code_is_that_of_its_examples(self, page: Path) -> None:
        sources = [path.read_text(encoding="utf-8") for path in examples_of(page)]
        assert blocks(page)
        for block in blocks(page):
            assert any(block.strip("\n") in source for source in sources), f"{page.name} shows code no example has"

    @pytest.mark.parametrize("page", KINDS, ids=named)
    def test_it_shows_the_pictures_of_its_examples(self, page: Path) -> None:
        drawn = {name for path in examples_of(page) for name in pictures_of(path)}
        assert drawn == {link for link in links(page) if link.endswith(".svg")}

    @pytest.mark.parametrize("page", KINDS, ids=named)
    def test_it_answers_the_questions(self, page: Path) -> None:
        for question in ("**Use them**", "**Late records.**", "**Elsewhere.**", "**Cost.**"):
            assert question.replace("them", "it") in written(page) or question in written(page), question

    @pytest.mark.parametrize("page", PAGES, ids=named)
    def test_every_link_leads_somewhere(self, page: Path) -> None:
        for link in links(page):
            assert (page.parent / link).exists(), f"{page.name} links to {link}, which is not there"

    def test_the_pages_show_every_example(self) -> None:
        assert sorted({path for page in PAGES for path in examples_of(page)}) == EXAMPLES


class TestDrawingThemAnew:
    def test_only_what_changed_is_written(self, tmp_path: Path) -> None:
        example = ROOT / "examples" / "windows" / "tumbling.py"
        assert write_pictures(example, tmp_path) == [tmp_path / "tumbling.svg"]
        assert write_pictures(example, tmp_path) == []

    def test_from_the_command_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([str(ROOT / "examples" / "windows" / "global.py"), str(tmp_path)]) == 0
        assert capsys.readouterr().out.splitlines() == [str(tmp_path / "global.svg")]
        assert main([]) == 2

    def test_an_example_without_pictures_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "silent.py").write_text("x = 1\n")
        with pytest.raises(InputError, match=r"silent\.py has no PICTURES"):
            write_pictures(tmp_path, tmp_path)
