"""Groups that are known to be of one row each are summed as any others."""

from __future__ import annotations

import numpy as np

from fanlight.kernels.aggregates.arrow_numpy import added
from fanlight.kernels.grouping.groups import Groups


def test_records_known_to_be_alone_are_what_groups_of_one_are() -> None:
    """Among them -0.0, whose sum is 0.0 however it is made."""
    column = np.array([-0.0, 1.5, np.inf, np.nan])
    alone, found = Groups.alone(len(column)), Groups(np.arange(len(column)), len(column))
    assert alone.sizes().tolist() == found.sizes().tolist() == [1, 1, 1, 1]
    assert added(column, alone).tobytes() == added(column, found).tobytes()
    assert not np.signbit(added(column, alone)[0])
