"""One text in every row: as Arrow repeats it."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fanlight.kernels.repeat_text import repeat_text


@given(st.text(max_size=4), st.integers(0, 5))
def test_is_what_arrow_repeats(text: str, rows: int) -> None:
    found = repeat_text(text, rows)
    found.validate(full=True)
    assert found.equals(pa.repeat(pa.scalar(text, pa.string()), rows))
