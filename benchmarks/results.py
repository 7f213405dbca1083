"""RESULTS.md: prose written by hand, and figures between markers that a run puts there."""

from __future__ import annotations

from pathlib import Path

ROOM = Path(__file__).resolve().parent
PAGE = ROOM / "RESULTS.md"
GROWTH, STATE = ROOM / "growth.png", ROOM / "state.png"


def replace_figures(page: str, name: str, figures: str) -> str:
    r"""The page with these figures between the markers of `name`.

    >>> replace_figures("a <!-- x --> old <!-- /x --> b", "x", "new")
    'a <!-- x -->\nnew\n<!-- /x --> b'
    """
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = page.partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{PAGE.name}: no {start} … {end} to put figures between. Put the markers back.")
    return f"{before}{start}\n{figures}\n{end}{after}"


def write(name: str, figures: str) -> None:
    """Put figures into the page."""
    PAGE.write_text(replace_figures(PAGE.read_text(encoding="utf-8"), name, figures), encoding="utf-8")
