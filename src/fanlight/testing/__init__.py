"""What tests of windowed pipelines are made of, for users too.

`rehearse` plays a pipeline's source, watermark and clock, and asserts what leaves it, with times as people write them.
`script` writes a run down: steps in, transcript out. `oracle` is the brute-force reading of the law. `strategies`
(needs hypothesis; import it by its own name) draws specs and scripts.
"""

from __future__ import annotations

from fanlight.testing import oracle
from fanlight.testing.rehearsal import Rehearsal, rehearse
from fanlight.testing.script import Counts, DeadLetter, Firing, Key, Outcome, Record, Step, Transcript, as_key, same

__all__ = [
    "Counts",
    "DeadLetter",
    "Firing",
    "Key",
    "Outcome",
    "Record",
    "Rehearsal",
    "Step",
    "Transcript",
    "as_key",
    "oracle",
    "rehearse",
    "same",
]
