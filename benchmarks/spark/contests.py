"""Who meets whom, over which files."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.data import Orders
from benchmarks.figures import Scale
from benchmarks.spark.aligned import HOPPING, TUMBLING, by_key, fanlight, fanlight_early, fanlight_patient, native
from benchmarks.spark.contestants import Contestant
from benchmarks.spark.files import Files

OURS, THEIRS = "Fanlight", "Spark `groupBy(window)`"
OURS_MANY, THEIRS_MANY = f"{OURS}, 100 times the keys", f"{THEIRS}, 100 times the keys"
EARLY = "Fanlight, early at every batch, retracting"
PATIENT = "Fanlight, lateness 1 hour, nothing late"
BY_KEY = "Spark, a processor grouped by key"

_WARM, _WARM_SLOW = 3, 2
"""Batches of a play that do not count: in them plans are made, code is compiled and windows have yet to close."""
_SLOW = 4
"""Batches that are enough for a contestant that takes half a minute for one."""
_SMALL = 1_000
"""Rows of a small batch. At full scale there are sixty, one for each minute, so that each closes one window."""


@dataclass(frozen=True, slots=True)
class Contests:
    """The contestants of each contest, in the order of their turns."""

    tumbling: tuple[Contestant, ...]
    hopping: tuple[Contestant, ...]
    small: tuple[Contestant, ...]
    hopping_slow: Contestant
    """Fanlight over the files that are enough for Spark's hopping windows: the same windows stay open."""

    @property
    def different(self) -> tuple[Contestant, ...]:
        """One contestant for each query there is; the others play the same over other files."""
        return *(each for each in self.tumbling if each.name in (OURS, THEIRS, BY_KEY)), *self.hopping

    @staticmethod
    def of(scale: Scale) -> Contests:
        """The contests over an hour of orders. Fewer rows have fewer keys, so that a window holds as many a key."""
        orders = Orders(scale.rows, keys=scale.rows // 2_000)
        files, few = Files(orders), Files(orders, first=_SLOW)
        crowd = Orders(scale.rows, keys=scale.rows // 20)
        batches = min(60, scale.rows // 10_000)
        small = Files(Orders(batches * _SMALL), cut=batches, first=batches)
        return Contests(
            tumbling=(
                fanlight(OURS, TUMBLING, files, _WARM),
                native(THEIRS, TUMBLING, files, _WARM),
                by_key(BY_KEY, few, _WARM_SLOW),
                fanlight(OURS_MANY, TUMBLING, Files(crowd), _WARM),
                native(THEIRS_MANY, TUMBLING, Files(crowd, first=_SLOW), _WARM_SLOW),
            ),
            hopping=(
                fanlight(OURS, HOPPING, files, _WARM),
                fanlight_patient(PATIENT, HOPPING, files, _WARM),
                fanlight_early(EARLY, HOPPING, files, _WARM),
                native(THEIRS, HOPPING, few, _WARM_SLOW),
            ),
            small=(fanlight(OURS, TUMBLING, small, batches // 3), native(THEIRS, TUMBLING, small, batches // 3)),
            hopping_slow=fanlight(OURS, HOPPING, few, _WARM_SLOW),
        )
