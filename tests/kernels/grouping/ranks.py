"""The order of keys as the tests know it."""

from __future__ import annotations

import math
from typing import Any


def rank(value: Any) -> tuple[int, Any]:
    """Where a key stands: values, then NaN, then null. Zero has no sign."""
    if value is None:
        return 2, 0
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)
