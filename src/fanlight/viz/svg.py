"""SVG as text: elements one a line, everything escaped, numbers to a tenth of a pixel."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from xml.sax.saxutils import escape, quoteattr

_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Canvas:
    """Elements in the order they are drawn; what comes later lies on top."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def draw(self, tag: str, text: str | None = None, /, **attributes: str | float) -> None:
        """One element. An underscore in an attribute's name is a hyphen, and one at its end is left out."""
        opened = f"<{tag}{_written(attributes)}"
        self._lines.append(f"{opened}/>" if text is None else f"{opened}>{plain(text)}</{tag}>")

    @contextmanager
    def group(self, tooltip: str | None = None, **attributes: str | float) -> Iterator[None]:
        """What is drawn inside belongs together; browsers show `tooltip` over it."""
        self._lines.append(f"<g{_written(attributes)}>")
        if tooltip is not None:
            self.draw("title", tooltip)
        yield
        self._lines.append("</g>")

    def document(self, width: float, height: float, title: str, description: str, style: str) -> str:
        """The whole picture. It scales to whatever width it is given, and says what it shows to who cannot see it."""
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "timeline"
        head = _written(
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "viewBox": f"0 0 {number(width)} {number(height)}",
                "width": number(width),
                "height": number(height),
                "role": "img",
                "aria-labelledby": f"{name}-title {name}-desc",
            }
        )
        return "\n".join(
            [
                f"<svg{head}>",
                f'<title id="{name}-title">{plain(title)}</title>',
                f'<desc id="{name}-desc">{plain(description)}</desc>',
                f"<style>\n{style.strip()}\n</style>",
                *self._lines,
                "</svg>\n",
            ]
        )


def number(value: float) -> str:
    """A coordinate; tenths are finer than anybody sees.

    >>> number(12.04), number(-0.01), number(3.25)
    ('12', '0', '3.2')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def plain(text: str) -> str:
    """Text that no parser takes for markup; characters that XML cannot hold become question marks."""
    return escape(_UNWRITABLE.sub("?", text))


def _written(attributes: dict[str, str | float]) -> str:
    return "".join(
        f" {name.rstrip('_').replace('_', '-')}={quoteattr(value if isinstance(value, str) else number(value))}"
        for name, value in attributes.items()
    )
