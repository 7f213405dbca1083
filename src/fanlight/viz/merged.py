"""Cogroups in pictures: windows over several inputs, whose records lie in lines of their own."""

from __future__ import annotations

from fanlight.model.cogroup import TIME
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.watermarks import Several


def merged_inputs(spec: StreamSpec) -> tuple[str, ...]:
    """The inputs of a cogroup; none, if it is not one.

    >>> import fanlight as fl
    >>> web, shop = (fl.stream([], time="ts", unit="s") for _ in range(2))
    >>> merged_inputs(fl.cogroup(web=web, shop=shop).window(fl.tumbling("1 h")).agg(n=fl.count()).spec)
    ('web', 'shop')
    """
    if spec.time != TIME or not isinstance(spec.watermark, Several):
        return ()
    return tuple(name for name, _ in spec.watermark.inputs)


def is_of(column: str, source: str, keys: tuple[str, ...]) -> bool:
    """Whether a record of the input `source` says something in this column; the columns of other inputs are null."""
    return column in keys or column.startswith(f"{source}.")
