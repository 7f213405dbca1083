"""A pipeline as a notebook shows it: the plan, the first rows, and the picture of its run, where these cost nothing."""

from __future__ import annotations

import base64
from html import escape

import pyarrow as pa

from fanlight.display.text import counted, value_text

_BOX = "font-family:system-ui,sans-serif;font-size:13px;line-height:1.45"
_THEMES = (
    "<style>"
    '[data-jp-theme-light="false"] .fanlight,.vscode-dark .fanlight{color-scheme:dark}'
    '[data-jp-theme-light="true"] .fanlight,.vscode-light .fanlight{color-scheme:light}'
    "</style>"
)
"""A picture follows the theme of JupyterLab or VS Code, also where the system is set otherwise."""

_CELL = "padding:2px 10px;text-align:left;white-space:nowrap"

ROWS = 20
"""How many rows are shown."""


def plan_page(title: str, plan: str, note: str = "") -> str:
    """The plan alone, as HTML, and what to call for more.

    >>> plan_page("fanlight stream", plain_plan("over a list, by `shop`")).count("<pre")
    1
    """
    return _box(_headed(title), plan, _said(note))


def plain_plan(text: str) -> str:
    """A plan that is text, as HTML."""
    return f'<pre style="margin:4px 0;white-space:pre-wrap">{escape(text)}</pre>'


def result_page(plan: str, table: pa.Table, picture: str | None) -> str:
    """The plan, as HTML, the first rows of a flat table, and the picture of the run if there is one."""
    said = _said(counted(len(table), ROWS))
    return _box(_headed("fanlight pipeline"), _folded("plan", plan), _rows(table), said, _picture(picture))


def _box(*parts: str) -> str:
    return f'<div class="fanlight" style="{_BOX}">{_THEMES}{"".join(parts)}</div>'


def _headed(title: str) -> str:
    return f"<b>{escape(title)}</b>"


def _folded(name: str, inside: str) -> str:
    return f"<details><summary>{escape(name)}</summary>{inside}</details>"


def _said(note: str) -> str:
    return f"<p>{escape(note)}</p>" if note else ""


def _rows(table: pa.Table) -> str:
    heads = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in table.schema.names)
    lines = [
        "".join(f'<td style="{_CELL}">{escape(value_text(value))}</td>' for value in row.values())
        for row in table.slice(0, ROWS).to_pylist()
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div style="overflow-x:auto"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def _picture(picture: str | None) -> str:
    """The picture as an image of its own: its styles are not those of the page."""
    if picture is None:
        return ""
    data = base64.b64encode(picture.encode()).decode()
    return f'<img alt="the run of the pipeline" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'
