"""Replaying cases from the peers' own test suites, written in the format `windowing-vectors/1`.

    load ─► refuse (adopt) ─► declare ─► play on a driver ─► compare ─► verdict

`replay(vector)` runs one case, `load(path)` reads the cases of a file.
"""

from __future__ import annotations

from fanlight.testing.vectors.drive import ENGINES, Driver, require_engine
from fanlight.testing.vectors.load import Vector, load
from fanlight.testing.vectors.replay import Status, Verdict, replay

__all__ = ["ENGINES", "Driver", "Status", "Vector", "Verdict", "load", "replay", "require_engine"]
