"""The answers to questions about joins on which other engines disagree: one frozen value, a preset for each engine.

Operators ask this value and never a peer's name. The defaults are Fanlight's own. `Semantics` has the answers about
windows: a document of windows says nothing of joins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fanlight.errors import SpecError


@dataclass(frozen=True, slots=True)
class JoinSemantics:
    """The answers to the open questions of interval joins.

    >>> JoinSemantics.named("kafka").takes_late
    True
    """

    goes_by_both: bool = False  # a side goes by the watermark of both together, not by its own
    takes_late: bool = False  # a record behind the watermark is taken: it joins what is kept, or is padded at once
    keeps_length: bool = False  # a row is kept for the length of the interval, by its own side's watermark
    pads_first: bool = False  # rows without a match leave before the pairs of their step, both sides' by time

    PRESETS: ClassVar[dict[str, JoinSemantics]]

    @classmethod
    def named(cls, peer: str) -> JoinSemantics:
        """The answers a user of `peer` is used to."""
        try:
            return cls.PRESETS[peer]
        except KeyError:
            raise SpecError(
                f"JoinSemantics: no preset is named {peer!r}. Use one of {', '.join(cls.PRESETS)}."
            ) from None


JoinSemantics.PRESETS = {
    "fanlight": JoinSemantics(),
    "beam": JoinSemantics(),
    "beam_python": JoinSemantics(),
    "flink": JoinSemantics(goes_by_both=True),
    "flink_sql": JoinSemantics(goes_by_both=True, takes_late=True),
    "kafka": JoinSemantics(goes_by_both=True, takes_late=True, keeps_length=True, pads_first=True),
    "malhar": JoinSemantics(),
    "risingwave": JoinSemantics(),
    "samza": JoinSemantics(),
    "spark": JoinSemantics(goes_by_both=True),
}
