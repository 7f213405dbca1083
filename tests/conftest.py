"""How hard the properties try: `HYPOTHESIS_PROFILE=thorough` for many more examples, `quick` for fewer."""

from __future__ import annotations

import os

from hypothesis import settings

# `quick` and `short` draw the same examples on every machine, so that a red run is red everywhere.
settings.register_profile("quick", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("short", max_examples=60, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=2000, deadline=None, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "short"))
