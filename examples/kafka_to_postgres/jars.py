"""The jars of the recipe, by Maven: fetched once, into `build/jars`.

python examples/kafka_to_postgres/jars.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEPT = HERE.parents[1] / "build" / "jars"


def jars(name: str) -> list[Path]:
    """The jars that `broker.xml` or `connector.xml` names, in a folder of their own."""
    listed = HERE / f"{name}.xml"
    folder = KEPT / name
    if not folder.exists() or folder.stat().st_mtime < listed.stat().st_mtime:
        _fetch(listed, folder)
    return sorted(folder.glob("*.jar"))


def _fetch(listed: Path, folder: Path) -> None:
    """Put all of them into the folder, or none."""
    maven = shutil.which("mvn")
    if maven is None:
        sys.exit(f"The jars of {listed.name} come by Maven, and there is no `mvn`. Install it: apt-get install maven")
    KEPT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=KEPT) as beside:
        fetched = Path(beside, "jars")
        quiet = [maven, "--quiet", "--batch-mode", "--file", str(listed)]
        # A repository of its own: Spark reads Maven's as well, and stumbles over what is there in part.
        options = [
            f"-Dmaven.repo.local={KEPT / 'repository'}",
            "-DincludeScope=runtime",
            f"-DoutputDirectory={fetched}",
        ]
        subprocess.run([*quiet, "dependency:copy-dependencies", *options], check=True, timeout=600)
        shutil.rmtree(folder, ignore_errors=True)
        fetched.rename(folder)


if __name__ == "__main__":
    for name in ("broker", "connector"):
        print(f"{name}: {len(jars(name))} jars")
