"""For the API reference: examples in docstrings become blocks of code, instead of quotations."""

from __future__ import annotations

from typing import Any

import griffe


class DoctestFences(griffe.Extension):
    """Puts a fence around every run of `>>>` lines and their output."""

    def on_object(self, *, obj: griffe.Object, **_kwargs: Any) -> None:
        """Called for each module, class, function and attribute that is read."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with its examples fenced: an example goes on up to the next blank line."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>> "):
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line.lstrip() if inside and line.lstrip().startswith((">>> ", "... ")) else line)
    return "\n".join([*lines, "```"] if inside else lines)
