"""What makes one kind of record of the records of both sides of a join."""

from __future__ import annotations

from fanlight.model.join.spec import JoinSpec
from fanlight.model.preparation import Intake, Preparation, Sided


def sided_intakes(spec: JoinSpec) -> dict[str, Intake]:
    """What is done to the records of each side, where nothing else is; the right side comes first."""
    sides = (spec.right, spec.left)
    names = tuple(side.name for side in sides)
    return {
        side.name: Intake(
            Preparation((Sided(side.name, names, side.time, side.unit, side.keys),)), side.time, None, side.unit
        )
        for side in sides
    }
