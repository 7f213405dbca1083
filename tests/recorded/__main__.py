"""`python -m tests.recorded record [group …]` and `show group case`; see README.md beside this."""

from __future__ import annotations

import sys

from .groups import GROUPS

USAGE = f"""usage: python -m tests.recorded record [group …]
       python -m tests.recorded show group case
groups: {", ".join(GROUPS)}"""


def main(asked: list[str]) -> None:
    """Do what was asked for."""
    match asked:
        case ["record", *names] if set(names) <= set(GROUPS):
            for name in names or GROUPS:
                GROUPS[name].keep()
        case ["show", group, name] if group in GROUPS and name in GROUPS[group].names():
            sys.stdout.writelines(f"{line}\n" for line in GROUPS[group].shown(name))
        case _:
            sys.exit(USAGE)


main(sys.argv[1:])
