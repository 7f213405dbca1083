"""The plan of a pipeline as HTML: a box for each source and stage, one below the other, inputs side by side.

It has no colours of its own, so that it is readable on whatever ground a page has.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from fanlight.display.plan_parts import (
    KEEPS,
    WATERMARK,
    facts,
    has_box,
    in_order,
    input_facts,
    input_title,
    stage_title,
)
from fanlight.explain import Lines, ToldInput, ToldStage

_BOX = "border:1px solid;border-radius:5px;padding:4px 8px;margin:2px 0;text-align:left;box-sizing:border-box"
_SIDE_BY_SIDE = "display:flex;overflow-x:auto;gap:12px;align-items:flex-end"
_COLUMN = "flex:1 1 0;min-width:240px"
_LINES = "display:grid;grid-template-columns:max-content 1fr;column-gap:10px;margin:2px 0"
_WORD = "opacity:.75;font-weight:normal"
_VALUE = "margin:0;min-width:0;overflow-wrap:anywhere"


def plan_html(stage: ToldStage) -> str:
    """The pipeline that ends with this stage.

    >>> import fanlight as fl
    >>> rows = fl.stream([{"ts": 1}], time="ts", unit="s", delay="5 s").sort()
    >>> page = rows.explain("html")
    >>> page.count("<section"), "5 s behind the greatest time seen" in page
    (2, True)
    """
    numbers = {id(one): number for number, one in enumerate(stage.chain, start=1)}
    return f'<div style="max-width:72em;line-height:1.4">{_staged(stage, numbers)}</div>'


def _staged(stage: ToldStage, numbers: Mapping[int, int]) -> str:
    """The stage below its inputs."""
    inputs = "".join(
        f'<div style="{_COLUMN}">{_input(one, numbers)}{_arrow(stage.exchange)}</div>' for one in in_order(stage)
    )
    title = stage_title(numbers[id(stage)], len(numbers), stage)
    return f'<div style="{_SIDE_BY_SIDE}">{inputs}</div>{_box(title, facts(stage), "solid")}'


def _input(one: ToldInput, numbers: Mapping[int, int]) -> str:
    own = _box(input_title(one), input_facts(one), "dashed") if has_box(one) else ""
    if one.before is None:
        return own
    return f"{_staged(one.before, numbers)}{_arrow('') if own else ''}{own}"


def _box(title: str, lines: Lines, border: str) -> str:
    rows = "".join(
        f'<dt style="{_WORD}">{escape(word)}</dt><dd style="{_VALUE}">{_stressed(word, escape(text))}</dd>'
        for word, text in lines
    )
    return (
        f'<section aria-label="{escape(title)}" style="{_BOX};border-style:{border}"><b>{escape(title)}</b>'
        f'<dl style="{_LINES}">{rows}</dl></section>'
    )


def _stressed(word: str, text: str) -> str:
    return f"<b>{text}</b>" if word in (KEEPS, WATERMARK) else text


def _arrow(text: str) -> str:
    return f'<div style="text-align:center">↓{f" {escape(text)}" if text else ""}</div>'
