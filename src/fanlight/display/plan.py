"""The plan of a pipeline in every form that `explain` gives it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter

from fanlight.display.plan_html import plan_html
from fanlight.display.plan_svg import plan_svg
from fanlight.explain import ToldStage

FORMATS: Mapping[str, Callable[[ToldStage], str]] = {"text": attrgetter("text"), "html": plan_html, "svg": plan_svg}
"""By its name: what makes it."""
