"""Every pipeline shape over the shapes' own records, cut in two ways.

three     as micro-batches bring them: the second and the third come behind the watermark of the one before
sevens    seven records a bundle: more firings that are early, more that are late
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pyarrow as pa
from tests.spark.shapes import BY_CLOCK, CALM, EVERY_KIND, LOSSY, SCHEMA, Shape, bundles

from .engines import NO_WORD, recorded
from .tape import Tape

SECOND = 1_000_000
GROUPS = {"calm": CALM, "kind": EVERY_KIND, "lossy": LOSSY, "clock": BY_CLOCK}
SHAPES: dict[str, Shape] = {
    f"{group}-{place:02d}": shape for group, shapes in GROUPS.items() for place, shape in enumerate(shapes)
}
"""The shapes by their place: a name that says what one is may change, and does not count."""

CUTS = ("three", "sevens")


@cache
def played(engine: str, name: str) -> Tape:
    """What a shape gives, cut both ways."""
    tape = Tape()
    for cut in CUTS:
        driver = recorded(engine, SHAPES[name].spec, SCHEMA, tape)
        clock = SECOND
        for records in _cut(cut):
            driver.bundle(records, side=None, clock=clock, word=NO_WORD)
            clock += 3 * SECOND
        driver.clock(clock + 10 * SECOND)
        driver.end()
    return tape


def _cut(cut: str) -> Iterator[pa.RecordBatch]:
    whole = pa.concat_tables(bundles()).combine_chunks()
    pieces = bundles() if cut == "three" else [whole.slice(start, 7) for start in range(0, len(whole), 7)]
    return (piece.combine_chunks().to_batches()[0] for piece in pieces)
