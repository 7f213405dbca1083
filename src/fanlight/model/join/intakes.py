"""What makes one kind of record of the records of all sides of a join."""

from __future__ import annotations

from fanlight.model.join.sided import SidedSpec
from fanlight.model.join.sides import Side
from fanlight.model.preparation import Intake, Preparation, Sided


def sided_intakes(spec: SidedSpec) -> dict[str, Intake]:
    """What is done to the records of each side, where nothing else is; the first side comes last."""
    names = tuple(side.name for side in spec.arriving)
    return {
        side.name: Intake(
            Preparation((sided(side, names, says_op=spec.changes is not None),)), side.time, None, side.unit
        )
        for side in spec.arriving
    }


def sided(side: Side, names: tuple[str, ...], *, says_op: bool) -> Sided:
    """What makes records of a side records of the join; `names` are those of all sides."""
    op = None if side.changes is None else side.changes.op
    return Sided(side.name, names, side.time, side.unit, side.keys, says_op, op)
