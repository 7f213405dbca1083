"""Cogroup, declared: several inputs are merged into one accumulation for each key and window.

a     ●  ●     ●           windows   [        )[        )[        )
b        ■        ■        full         all that any input has records for
                           inner        those that all have records for
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum

from fanlight.model.aggregates.single import AnyTrue
from fanlight.model.firing import Accumulation
from fanlight.model.spec import WindowSpec

TIME = "record time"
"""The column with the time of a record of any input. It has a blank, as few keys have."""
HERE = "here."
"""What a column begins with that is true of the records of one input: then comes the name of the input."""


class CogroupType(Enum):
    """Which windows leave, by the inputs that have records for them."""

    FULL = "full"
    """Those that any input has records for."""
    INNER = "inner"
    """Those that all inputs have records for."""
    LEFT = "left"
    """Those that the first input has records for."""
    RIGHT = "right"
    """Those that the last input has records for."""

    def needs(self, inputs: tuple[str, ...]) -> tuple[str, ...]:
        """The inputs that must have records for a window."""
        return {"full": (), "inner": inputs, "left": inputs[:1], "right": inputs[-1:]}[self.value]


@dataclass(frozen=True, slots=True)
class CogroupSpec(WindowSpec):
    """A windowed aggregate of several inputs, of which some must have records for a window.

    Its windows are those of `merged`, which notes for each such input whether it is there.

    >>> import fanlight as fl
    >>> web, shop = (fl.stream([], time="ts", unit="s").key_by("id") for _ in range(2))
    >>> both = fl.cogroup(web=web, shop=shop, how="inner").window(fl.tumbling("1 h")).agg(n=fl.count())
    >>> both.spec.needs
    ('web', 'shop')
    """

    needs: tuple[str, ...] = ()
    """The inputs that must have records for a window, for it to leave."""

    @property
    def merged(self) -> WindowSpec:
        """The windowed aggregate that is run; what it shows can be compared with what it showed before."""
        own = {one.name: getattr(self, one.name) for one in fields(WindowSpec)}
        here = tuple((f"{HERE}{name}", AnyTrue(f"{HERE}{name}")) for name in self.needs)
        spec = WindowSpec(**{**own, "aggregates": (*self.aggregates, *here)})
        return replace(spec, accumulation=Accumulation.RETRACTING) if spec.replaces else spec

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that are read."""
        return self.merged.columns
