"""A picture read back from its SVG: boxes of bars, marks and text, to see whether they collide."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
ADVANCE = 0.602  # of DejaVu Sans Mono, the widest of the fonts that are asked for


@dataclass(frozen=True)
class Box:
    what: str
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Whether two boxes share more than a border."""
        apart = (
            self.right <= other.left or other.right <= self.left or self.bottom <= other.top or other.bottom <= self.top
        )
        return not apart


@dataclass(frozen=True)
class Drawing:
    root: ET.Element
    width: float
    height: float

    @property
    def texts(self) -> list[str]:
        return [element.text or "" for element in self.root.iter(f"{SVG}text")]

    def elements(self, tag: str, class_: str) -> list[ET.Element]:
        found = self.root.iter(SVG + tag)
        return [element for element in found if class_ in element.get("class", "").split()]

    def tooltips(self) -> list[str]:
        return [element.text or "" for group in self.root.iter(f"{SVG}g") for element in group.iter(f"{SVG}title")]

    def bars(self) -> list[Box]:
        """The windows, without the one in the legend."""
        return [self._of_path(element) for element in self.elements("path", "bar")]

    def records(self) -> list[Box]:
        """Records with their numbers, without the small ones among the steps."""
        numbered = [*self.elements("rect", "record"), *self.elements("polygon", "late_record")]
        boxes = [self._of_shape(element) for element in numbered]
        return [box for box in boxes if box.bottom - box.top > 12]

    def text_boxes(self) -> list[Box]:
        return [self._of_text(element) for element in self.root.iter(f"{SVG}text")]

    def collisions(self, boxes: list[Box]) -> list[tuple[Box, Box]]:
        return [(one, other) for one, other in combinations(boxes, 2) if one.meets(other)]

    def outside(self) -> Iterator[Box]:
        for box in [*self.bars(), *self.records(), *self.text_boxes()]:
            if box.left < 0 or box.top < 0 or box.right > self.width or box.bottom > self.height:
                yield box

    @staticmethod
    def _of_path(element: ET.Element) -> Box:
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", element.get("d", ""))]
        xs, ys = numbers[::2], numbers[1::2]
        return Box("bar", min(xs), min(ys), max(xs), max(ys))

    @staticmethod
    def _of_shape(element: ET.Element) -> Box:
        if element.tag == f"{SVG}polygon":
            points = [point.split(",") for point in element.get("points", "").split()]
            xs, ys = [float(x) for x, _ in points], [float(y) for _, y in points]
            return Box("record", min(xs), min(ys), max(xs), max(ys))
        x, y, width, height = (float(element.get(name, "0")) for name in ("x", "y", "width", "height"))
        return Box("record", x, y, x + width, y + height)

    @staticmethod
    def _of_text(element: ET.Element) -> Box:
        text, classes = element.text or "", element.get("class", "").split()
        size = 17.0 if "title" in classes else 11.0 if "small" in classes else 12.0
        width = len(text) * size * ADVANCE
        x, baseline = float(element.get("x", "0")), float(element.get("y", "0"))
        left = x - width / 2 if "middle" in classes else x - width if "right" in classes else x
        return Box(text, left, baseline - 0.75 * size, left + width, baseline + 0.2 * size)


def read(document: str) -> Drawing:
    """Parse a picture; one that is no XML is an error."""
    root = ET.fromstring(document)
    _, _, width, height = (float(number) for number in root.get("viewBox", "").split())
    return Drawing(root, width, height)
