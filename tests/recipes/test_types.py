"""What the docs and the examples show is accepted by type checkers, as it stands."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from subprocess import run

import pytest

from .extracted import ROOT, modules

REDEFINED = ["--allow-redefinition-new", "--local-partial-types"]
"""A page uses a name again for something else, as a notebook does."""

MADE_ON_IMPORT = 'is not a known attribute of module "pyarrow.compute"'
"""pyarrow makes most of its functions when it is imported, and has no types that say so."""


def told(command: list[str]) -> tuple[int, str]:
    done = run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout or done.stderr


@pytest.mark.slow
def test_mypy_accepts_every_recipe_and_every_example(tmp_path: Path) -> None:
    """The settings of the project say what is strict; the examples are checked as they stand."""
    code, said = told(["mypy", "--strict", *REDEFINED, *modules(tmp_path), "examples"])
    assert code == 0, said


@pytest.mark.slow
@pytest.mark.integration
def test_pyright_accepts_them_too(tmp_path: Path) -> None:
    modules(tmp_path)
    settings = {
        "include": [".", os.path.relpath(ROOT / "examples", tmp_path)],
        "extraPaths": [str(ROOT / "src"), str(ROOT / "examples" / "kafka_to_postgres")],
        "pythonVersion": "3.11",
        "reportUnusedExpression": False,  # an example shows what it comes to
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    _, said = told(["pyright", "--project", str(tmp_path), "--pythonpath", sys.executable, "--outputjson"])
    found = json.loads(said)
    assert found["summary"]["filesAnalyzed"] > 50
    refused = [one for one in found["generalDiagnostics"] if MADE_ON_IMPORT not in one["message"]]
    assert not refused, "\n".join(
        f"{one['file']}:{one['range']['start']['line'] + 1} {one['message']}" for one in refused
    )
