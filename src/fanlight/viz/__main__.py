"""Draw pictures anew: `python -m fanlight.viz EXAMPLES FOLDER`, as in `make pictures`."""

from __future__ import annotations

import sys
from pathlib import Path

from fanlight.viz.pictures import write_pictures


def main(arguments: list[str]) -> int:
    """Draw what the examples show, and name the files that changed."""
    if len(arguments) != 2:
        sys.stderr.write(
            "Usage: python -m fanlight.viz EXAMPLES FOLDER (a file or folder of examples, where to write)\n"
        )
        return 2
    for path in write_pictures(Path(arguments[0]), Path(arguments[1])):
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
