"""The house rules that no linter knows: public names, file sizes, who imports what, docs that keep up."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
import runpy
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import fanlight
from fanlight import errors
from fanlight.model import (
    aggregate,
    aggregates,
    aggregates_approximate,
    aggregates_code,
    aggregates_composite,
    aggregates_paired,
    aggregates_single,
    retention,
    triggers,
    watermarks,
    windows,
)
from fanlight.model.semantics import Semantics

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "fanlight"
SOURCES = sorted(PACKAGE.rglob("*.py"))
DOCS = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))
PEERS = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")

LONGEST = 400
TERMINAL_AND_FILES = {"yaml", "typer", "rich"}


def named(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module a file imports, by its full name."""
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    from_one = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    assert all(node.level == 0 for node in from_one), f"{named(path)} imports relatively; write the full name"
    whole = (alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names)
    return frozenset([*whole, *(node.module or "" for node in from_one)])


def functions(module: ModuleType) -> list[str]:
    """The public functions that a module itself defines."""
    return [name for name, value in inspect.getmembers(module, inspect.isfunction) if own(module, name, value)]


def classes(module: ModuleType) -> list[str]:
    """The public classes that a module itself defines."""
    return [name for name, value in inspect.getmembers(module, inspect.isclass) if own(module, name, value)]


def own(module: ModuleType, name: str, value: object) -> bool:
    return not name.startswith("_") and value.__module__ == module.__name__


AGGREGATES = (aggregates_approximate, aggregates_code, aggregates_composite, aggregates_paired, aggregates_single)
AGGREGATE_WORDS = [name for module in AGGREGATES for name in functions(module)]
TRIGGERS = [name for name in classes(triggers) if name != "Trigger"]
TRIGGER_WORDS = functions(triggers)
FIELDS = [field.name for field in dataclasses.fields(Semantics)]


class TestPublicNames:
    def test_they_are_sorted(self) -> None:
        assert list(fanlight.__all__) == sorted(fanlight.__all__)

    def test_none_is_said_twice(self) -> None:
        assert len(set(fanlight.__all__)) == len(fanlight.__all__)

    @pytest.mark.parametrize("name", fanlight.__all__)
    def test_each_exists_and_says_what_it_is(self, name: str) -> None:
        value = getattr(fanlight, name)
        if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
            # A dataclass without a docstring is given its own signature, which says nothing.
            assert value.__doc__, f"fanlight.{name} has no docstring"
            assert not value.__doc__.startswith(f"{name}("), f"fanlight.{name} has no docstring"

    def test_whatever_the_package_brings_in_by_name_is_public(self) -> None:
        tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
        brought = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module != "__future__"
            for alias in node.names
        }
        assert {name for name in brought if not name.startswith("_")} <= set(fanlight.__all__)

    @pytest.mark.parametrize("module", [*AGGREGATES, retention, triggers, watermarks, windows])
    def test_every_word_of_the_model_is_public(self, module: ModuleType) -> None:
        assert set(functions(module)) <= set(fanlight.__all__)

    def test_every_aggregate_is_in_the_module_of_them_all(self) -> None:
        assert {name for module in (aggregate, *AGGREGATES) for name in functions(module) + classes(module)} == set(
            aggregates.__all__
        )

    def test_every_error_is_public(self) -> None:
        assert set(classes(errors)) <= set(fanlight.__all__)


class TestSources:
    @pytest.mark.parametrize("path", SOURCES, ids=named)
    def test_no_file_is_too_long(self, path: Path) -> None:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= LONGEST, f"{named(path)} has {lines} lines: which second concept moved in?"

    @pytest.mark.parametrize("path", SOURCES, ids=named)
    def test_every_file_says_what_it_holds(self, path: Path) -> None:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), f"{named(path)} has no docstring"

    @pytest.mark.parametrize("path", SOURCES, ids=named)
    def test_terminals_and_files_stay_in_their_rooms(self, path: Path) -> None:
        if path.relative_to(PACKAGE).parts[0] not in ("cli", "testing"):
            assert not TERMINAL_AND_FILES & {name.partition(".")[0] for name in imports(path)}

    @pytest.mark.parametrize("path", sorted((PACKAGE / "model").rglob("*.py")), ids=named)
    def test_the_model_is_plain(self, path: Path) -> None:
        for name in imports(path):
            own = name == "fanlight.errors" or name.startswith("fanlight.model.")
            assert own or name.partition(".")[0] in sys.stdlib_module_names, f"{named(path)} imports {name}"

    @pytest.mark.parametrize("path", SOURCES, ids=named)
    def test_the_same_log_gives_the_same_output(self, path: Path) -> None:
        """No wall clock and nothing drawn by lot; a command line may measure itself. Pickle is for nobody."""
        refused = {"pickle", "random", "time"} if path.relative_to(PACKAGE).parts[0] != "cli" else {"pickle"}
        assert not refused & imports(path)


class TestDocs:
    @pytest.mark.parametrize("name", TRIGGERS + TRIGGER_WORDS)
    def test_every_trigger_is_explained(self, name: str) -> None:
        assert re.search(rf"`{name}\b|\b{name}\(", DOCS), f"no page of docs mentions `{name}`"

    @pytest.mark.parametrize("name", AGGREGATE_WORDS)
    def test_every_aggregate_is_explained(self, name: str) -> None:
        page = (ROOT / "docs" / "aggregates.md").read_text(encoding="utf-8")
        assert f"`{name}(" in page, f"docs/aggregates.md does not mention `{name}`"

    @pytest.mark.parametrize("name", FIELDS)
    def test_every_field_of_the_semantics_is_explained(self, name: str) -> None:
        assert f"| `{name}` |" in PEERS, f"docs/peers.md has no row for `{name}`"

    def test_the_table_of_presets_is_what_the_code_says(self) -> None:
        table = PEERS.partition("## The presets")[2].partition("## What is spelled")[0]
        head, _, *rows = [line.strip(" |").split("|") for line in table.splitlines() if line.startswith("|")]
        peers = [cell.strip(" `") for cell in head[1:]]
        written = {
            (peer, row[0].strip(" `")): cell.strip(" `")
            for row in rows
            for peer, cell in zip(peers, row[1:], strict=True)
        }
        assert written == {
            (peer, name): spelled(preset, name) for peer, preset in Semantics.PRESETS.items() for name in FIELDS
        }

    def test_the_readme_shows_the_example_that_runs(self) -> None:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        shown = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
        example = (ROOT / "examples" / "ten_lines.py").read_text(encoding="utf-8")
        assert shown
        assert all(block in example for block in shown)

    def test_the_example_tells_the_story_of_the_picture(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Two orders early, a third on time, a fourth late, each taking the one before back; a fifth is too late."""
        runpy.run_path(str(ROOT / "examples" / "ten_lines.py"))
        lines = capsys.readouterr().out.splitlines()
        told = [line.split() for line in lines]
        assert [(line[0], line[1], line[3]) for line in told if line and line[0] in ("+I", "-U", "+U")] == [
            ("+I", "EARLY", "2"),
            ("-U", "ON_TIME", "2"),
            ("+U", "ON_TIME", "3"),
            ("-U", "LATE", "3"),
            ("+U", "LATE", "4"),
        ]
        assert "  expired: tea of 12:05:00" in lines
        assert lines[-1] == "8 in = 7 accepted + 0 duplicates + 1 dead letters"

    def test_every_link_between_pages_leads_somewhere(self) -> None:
        for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]:
            for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
                assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def spelled(preset: Semantics, field: str) -> str:
    """One cell of the table of presets."""
    value = getattr(preset, field)
    if value == getattr(Semantics(), field):
        return "-"
    return value.name if isinstance(value, enum.Enum) else str(value)
