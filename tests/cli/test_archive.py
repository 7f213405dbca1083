"""`fanlight archive`: a file from which Python imports the package, and packs it again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fanlight.cli.main import app

pytestmark = pytest.mark.slow


def test_the_archive_can_be_imported_from_and_packs_itself(tmp_path: Path) -> None:
    """Under `spark-submit --py-files` the package comes from such a file, and `ship` sends the same bytes."""
    file = tmp_path / "fanlight.zip"
    told = CliRunner().invoke(app, ["archive", str(file)])
    assert told.exit_code == 0
    assert f"--py-files {file}" in told.output.replace("\n", "")
    program = (
        f"import sys; sys.path.insert(0, {str(file)!r}); import fanlight; from fanlight.spark.shipping import archive; "
        f"assert fanlight.__file__.startswith({str(file)!r}), fanlight.__file__; sys.stdout.buffer.write(archive())"
    )
    again = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert again.stdout == file.read_bytes()
