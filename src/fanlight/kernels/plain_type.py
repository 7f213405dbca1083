"""Encoded types: dictionaries, views and narrow decimals hold plain values, and kernels work on the plain values.

So a result has the plain type: the greatest value of a dictionary of strings is a string.
"""

from __future__ import annotations

import pyarrow as pa


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values that `kind` encodes; `kind` itself if it is plain, as most types are."""
    if isinstance(kind, pa.DictionaryType):
        return plain_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if isinstance(kind, (pa.Decimal32Type, pa.Decimal64Type)):
        return pa.decimal128(kind.precision, kind.scale)
    return kind
