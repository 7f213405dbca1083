"""How aggregates are computed: `bind` an aggregate to the type of its column to get a reducer of groups of rows."""

from fanlight.kernels.aggregates.bind import bind
from fanlight.kernels.reducer import MessageReducer, Reducer

__all__ = ["MessageReducer", "Reducer", "bind"]
