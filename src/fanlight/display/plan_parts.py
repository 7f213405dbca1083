"""What the boxes of a plan show, in HTML and in the picture alike: those of stages, and those of their inputs."""

from __future__ import annotations

from collections.abc import Sequence

from fanlight.explain import Lines, ToldInput, ToldStage
from fanlight.model.join.spec import JoinSpec
from fanlight.viz.words import described

KEEPS, WATERMARK = "keeps", "watermark"
"""The words of lines that stand out: state, and how far time has come."""


def stage_title(number: int, stages: int, stage: ToldStage) -> str:
    """What a stage is called: its number, where there are several, and what it asks for."""
    return described(stage.spec) if stages == 1 else f"stage {number}: {described(stage.spec)}"


def facts(stage: ToldStage) -> Lines:
    """What is said of a stage, but for what the boxes of its inputs say."""
    return [("runs", stage.runs), *stage.said]


def input_facts(one: ToldInput) -> Lines:
    """What is said of an input."""
    return [*([("after", one.after)] if one.after else []), (WATERMARK, one.watermark)]


def input_title(one: ToldInput) -> str:
    """What an input is called."""
    return f"{one.name}: {one.what}" if one.name else one.what


def has_box(one: ToldInput) -> bool:
    """Whether an input has a box of its own: a source, or results to which something is done first."""
    return one.before is None or bool(one.after)


def in_order(stage: ToldStage) -> Sequence[ToldInput]:
    """The inputs from the left to the right; the right side of a join is read first, and stands on the right."""
    return stage.inputs[::-1] if isinstance(stage.spec, JoinSpec) else stage.inputs
