"""How hard the properties try: `HYPOTHESIS_PROFILE=thorough` for many more examples."""

from __future__ import annotations

import os

from hypothesis import settings

# `short` draws the same examples on every machine, so that a red run is red everywhere.
settings.register_profile("short", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))
