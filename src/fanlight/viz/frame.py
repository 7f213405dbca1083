"""What stands around a run in a picture: its title, what the pipeline asks for, and what the marks mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from fanlight.viz.legend import Legend, Symbol
from fanlight.viz.panel import MARGIN, WIDTH
from fanlight.viz.style import STYLE
from fanlight.viz.svg import Canvas

_HEAD = 74.0


class Drawable(Protocol):
    """A run, at any height of a picture."""

    @property
    def height(self) -> float:
        """How much room it takes."""

    @property
    def told(self) -> str:
        """It for who cannot see the picture."""

    def draw(self, canvas: Canvas, top: float) -> None:
        """Draw it, from `top` on."""


def framed(panel: Drawable, meanings: Iterable[tuple[Symbol, str]], title: str, asked: str) -> str:
    """The picture of a run; `asked` is what its pipeline asks for."""
    left, right = MARGIN, WIDTH - MARGIN
    legend = Legend(meanings, left, right)
    height = _HEAD + panel.height + 8 + legend.height + 12
    canvas = Canvas()
    canvas.draw("rect", class_="ground", x=0.0, y=0.0, width=WIDTH, height=height, rx=6.0)
    canvas.draw("text", title, class_="title", x=left, y=34.0)
    canvas.draw("text", asked, class_="faint", x=left, y=56.0)
    panel.draw(canvas, _HEAD)
    legend.draw(canvas, _HEAD + panel.height + 8)
    return canvas.document(WIDTH, height, title, panel.told, STYLE)
