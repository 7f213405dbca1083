"""YAML text that ends: without anchors, and within bounds of length and depth.

An anchor lets a file of ten lines stand for a value of 10^9 parts. Vectors name nothing twice, so they need none.
"""

from __future__ import annotations

from typing import Any, TextIO

import yaml

from fanlight.errors import VectorError

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The same language ten times as fast, where PyYAML was built with it."""

_CHARACTERS = 1 << 22
"""A hundred times the longest file of vectors there is."""
_DEPTH = 64
"""Vectors have less than 20 levels."""
_SCALAR = 1 << 16
"""YAML reads `1:2:3…` as a number, in time that grows with the square of its length."""


def bounded(file: TextIO) -> Any:
    """What a file of YAML says; a `VectorError` that begins with a verb if that is not to be known within bounds."""
    text = file.read(_CHARACTERS + 1)
    if len(text) > _CHARACTERS:
        raise VectorError(f"has more than {_CHARACTERS:,} characters, the most that are read. Split it.")
    try:
        _require_bounds(text)
        return yaml.load(text, _LOADER)
    except VectorError:
        raise
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise VectorError(f"is not YAML ({reason}). Name a vectors file.") from None


def _require_bounds(text: str) -> None:
    """Go through the text without building anything."""
    depth = 0
    for event in yaml.parse(text, _LOADER):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.NodeEvent) and event.anchor is not None:
            raise VectorError(f"has the anchor or alias {event.anchor!r} in line {line}. Write the value out instead.")
        if isinstance(event, yaml.ScalarEvent) and len(event.value) > _SCALAR:
            raise VectorError(f"has a value of {len(event.value):,} characters in line {line}. Write a shorter one.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEPTH:
            raise VectorError(f"is nested more than {_DEPTH} levels deep in line {line}. Write it flatter.")
