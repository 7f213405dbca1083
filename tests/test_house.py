"""The house rules that no linter knows: public names, file sizes, who imports what, docs that keep up."""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
import runpy
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from benchmarks import reading

import fanlight
from fanlight import errors
from fanlight.model import aggregates, retention, triggers
from fanlight.model.aggregates import aggregate, all_values, approximate, code, composed, paired, single
from fanlight.model.join.semantics import JoinSemantics
from fanlight.model.semantics import Semantics
from fanlight.model.time import watermarks
from fanlight.model.windows import (
    calendar,
    counting,
    cumulating,
    custom,
    global_window,
    hopping,
    session,
    sliding,
    tumbling,
)

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "fanlight"
SOURCES = sorted(PACKAGE.rglob("*.py"))
DOCS = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
HOW_IT_WORKS = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
PEERS = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")

LONGEST = 400
MOST_PLACES = 15
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PEEKING = {"getattr", "setattr", "delattr"}
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


AGGREGATES = (all_values, approximate, code, composed, paired, single)
WINDOWS = (calendar, counting, cumulating, custom, global_window, hopping, session, sliding, tumbling)
AGGREGATE_WORDS = [name for module in AGGREGATES for name in functions(module)]
TRIGGERS = [name for name in classes(triggers) if name != "Trigger"]
TRIGGER_WORDS = functions(triggers)
FIELDS = [field.name for field in dataclasses.fields(Semantics)]


PIPELINE = {
    fanlight.Stream: "key_by where select window over sort unique_by recent join",
    fanlight.Windowed: "trigger discarding accumulating retracting semantics closing stamped agg top over",
    fanlight.Result: "table show to_pandas to_polars explain write_to operator dead_letters on_dead_letters accounting",
}
"""What one writes between a stream and its results."""


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

    @pytest.mark.parametrize("name", fanlight.__all__)
    def test_each_has_an_example(self, name: str) -> None:
        """The doctests run them; a new name without one is found here."""
        assert ">>> " in (getattr(fanlight, name).__doc__ or ""), f"fanlight.{name} has no example"

    @pytest.mark.parametrize(
        ("owner", "word"), [(owner, word) for owner, words in PIPELINE.items() for word in words.split()]
    )
    def test_so_has_each_word_of_a_pipeline(self, owner: type, word: str) -> None:
        assert ">>> " in (inspect.getdoc(getattr(owner, word)) or ""), f"{owner.__name__}.{word} has no example"

    def test_whatever_the_package_brings_in_by_name_is_public(self) -> None:
        tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
        brought = {
            alias.asname or alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module != "__future__"
            for alias in node.names
        }
        assert {name for name in brought if not name.startswith("_")} <= set(fanlight.__all__)

    @pytest.mark.parametrize("module", [*AGGREGATES, retention, triggers, watermarks, *WINDOWS])
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

    def test_no_class_has_the_name_of_another(self) -> None:
        trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES]
        names = [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
        assert [name for name, count in Counter(names).items() if count > 1 and not name.startswith("_")] == []

    @pytest.mark.parametrize("path", SOURCES, ids=named)
    def test_terminals_and_files_stay_in_their_rooms(self, path: Path) -> None:
        if path.relative_to(PACKAGE).parts[0] not in ("cli", "testing", "display"):
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


class TestKindsOfWindows:
    def test_few_places_of_the_engine_ask_which_one_it_is(self) -> None:
        places = reading.places_asking_for_kinds(PACKAGE.parent)
        assert len(places) <= MOST_PLACES, f"let the kind answer for itself:\n{reading.tell(places)}"

    def test_each_way_to_ask_is_counted(self, tmp_path: Path) -> None:
        """One line each, in a file of the engine; the same in a kind's own file is nobody else's business."""
        asks = [
            "isinstance(kind, Session | Sliding)",  # two
            "type(kind) is Tumbling",
            "kind.__name__ == 'Hopping'",
            "spec.window.is_aligned",
            "spec.window.domain is None",
            "part.domain",  # a trigger's: not counted
        ]
        matched = "match kind:\n    case Counting(): pass\n"
        for file in ("operators/shard.py", "operators/window/session/merge.py"):
            path = tmp_path / "fanlight" / file
            path.parent.mkdir(parents=True)
            path.write_text("\n".join([*asks, matched]), encoding="utf-8")
        assert [(place.line, place.asks) for place in reading.places_asking_for_kinds(tmp_path)] == [
            (1, "isinstance Session"),
            (1, "isinstance Sliding"),
            (2, "type is Tumbling"),
            (3, "class name"),
            (4, "is_aligned"),
            (5, "domain"),
            (8, "case Counting"),
        ]


class TestTests:
    """What a test sees, whoever uses the thing sees: then the inside may be made anew, and the test still holds."""

    @pytest.mark.parametrize("path", TESTS, ids=lambda path: path.relative_to(ROOT).as_posix())
    def test_no_test_patches_or_imports_what_is_private(self, path: Path) -> None:
        """That none reads a private attribute is the linter's to see (SLF)."""
        private = []
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fanlight"):
                private += [alias.name for alias in node.names if is_private(alias.name)]
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in PEEKING:
                named = [word.value for word in node.args if isinstance(word, ast.Constant)]
                private += [word for word in named if isinstance(word, str) and is_private(word.rpartition(".")[2])]
        assert not private, f"{', '.join(private)}: make it a parameter that is public, or see it from outside"


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

    def test_the_answers_about_joins_are_what_the_code_says(self) -> None:
        page = PEERS.partition("## Joins")[2].partition("## What a preset")[0]
        names = [field.name for field in dataclasses.fields(JoinSemantics)]
        rows = re.findall(r"^\| `(\w+)` \|([^\n]*)\|$", page, re.MULTILINE)
        asked = [name for name, cells in rows if "?" in cells]
        given = {name: [cell.strip(" `") for cell in cells.split("|")] for name, cells in rows if "?" not in cells}
        assert asked == names
        assert given == {
            name: ["True" if getattr(preset, name) else "-" for preset in JoinSemantics.PRESETS.values()]
            for name in names
        }

    def test_every_folder_has_a_line(self) -> None:
        folders = {f"{named(path.parent)}/" for path in SOURCES if path.parent != PACKAGE}
        rooms = HOW_IT_WORKS.partition("## The rooms")[2].partition("## To add")[0]
        assert set(re.findall(r"^\| `([\w/]+/)` \|", rooms, re.MULTILINE)) == folders

    def test_every_file_that_it_names_is_there(self) -> None:
        """`<kind>` and `<name>` stand for what somebody adds."""
        rooms = "|".join(sorted(path.name for path in PACKAGE.iterdir() if path.is_dir()))
        paths = re.findall(rf"`((?:fanlight/)?(?:{rooms})/[\w/]+(?:\.py)?|fanlight/\w+\.py)`", HOW_IT_WORKS)
        missing = [path for path in paths if not (PACKAGE / path.removeprefix("fanlight/")).exists()]
        assert len(paths) > 50
        assert not missing, f"docs/how-it-works.md: {', '.join(missing)}"

    def test_the_glossary_has_every_class_of_the_operators(self) -> None:
        trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (PACKAGE / "operators").rglob("*.py")]
        public = [n.name for tree in trees for n in tree.body if isinstance(n, ast.ClassDef) and n.name[0] != "_"]
        rows = re.findall(r"^\| (`.*?) \|", GLOSSARY.partition("### Classes of `operators`")[2], re.MULTILINE)
        named = [name.strip("`") for row in rows for name in row.split(", ")]
        assert len(named) == len(set(named))
        without, gone = sorted(set(public) - set(named)), sorted(set(named) - set(public))
        assert not without, f"docs/glossary.md has no row for {', '.join(without)}, under Code"
        assert not gone, f"docs/glossary.md has rows for {', '.join(gone)}, which are not there"

    def test_no_word_of_the_glossary_is_there_twice(self) -> None:
        words = re.findall(r"^\| (.*?) \|", GLOSSARY, re.MULTILINE)
        each = [word for row in words for word in row.split(", ") if word not in ("word", "class")]
        assert len(set(each)) == len(each)

    def test_the_table_of_what_one_reads_is_what_the_script_counts(self) -> None:
        assert reading.table() in HOW_IT_WORKS, f"docs/how-it-works.md should say:\n{reading.table()}"

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

    def test_every_test_that_a_page_names_exists(self) -> None:
        """A path alone, `path::name`, `path::Class::name`; and `::name` is of the path named last before it."""
        named = []
        for page in PAGES:
            path = ""
            for file, name in re.findall(r"(tests/[\w/]+\.py)?((?:::\w+)*)", page.read_text(encoding="utf-8")):
                path = file or path
                named += [(path, name)] if file or name else []
        assert len(named) > 50, "the pages name the tests that show what they say; here hardly one was found"
        missing = [path + name for path, name in named if not in_file(path, tuple(filter(None, name.split("::"))))]
        assert not missing, f"no such test: {', '.join(missing)}"


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def in_file(path: str, names: tuple[str, ...]) -> bool:
    """Whether a file exists and has these names, each inside the one before it."""
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body if (ROOT / path).is_file() else None
    for name in names:
        body = next((inner(node) for node in body or () if name in defined(node)), None)
    return body is not None


def defined(node: ast.stmt) -> list[str]:
    """The names that a statement defines."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return [getattr(node, "name", "")] + [target.id for target in targets if isinstance(target, ast.Name)]


def inner(node: ast.stmt) -> list[ast.stmt]:
    """The statements inside a class; nothing of a function or a constant has a name of its own."""
    return node.body if isinstance(node, ast.ClassDef) else []


def spelled(preset: Semantics, field: str) -> str:
    """One cell of the table of presets."""
    value = getattr(preset, field)
    if value == getattr(Semantics(), field):
        return "-"
    return value.name if isinstance(value, enum.Enum) else str(value)
