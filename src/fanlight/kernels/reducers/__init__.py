"""Aggregates computed: `bind` an aggregate to the type of its column, and reduce groups of rows with what it gives."""

from fanlight.kernels.reducers.bind import bind
from fanlight.kernels.reducers.reducer import MessageReducer, Reducer

__all__ = ["MessageReducer", "Reducer", "bind"]
