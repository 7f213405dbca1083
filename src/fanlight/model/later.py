"""How a field is marked that a value of the model got after documents of it were written."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

LATER: Mapping[str, str] = MappingProxyType({"written": "unless it is the default"})
"""Marks a field that came later: documents have it only where it is not the default."""
