"""`fanlight archive`: the package as a zip file, for machines that do not have it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def archive(
    file: Annotated[Path, typer.Argument(help="Where to write it, as in fanlight.zip.")],
) -> None:
    """Write the package as a zip file that `spark-submit --py-files` takes."""
    from fanlight.spark.shipping import archive as packed

    file.write_bytes(packed())
    print(f"{file}: spark-submit --py-files {file} …")
