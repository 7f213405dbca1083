"""How an operator stands between two steps, so that a step can be undone, or seen to be done."""

from __future__ import annotations

from typing import Any, NamedTuple

from fanlight.operators.shard import ShardOperator


class Standing(NamedTuple):
    """Everything an operator knows besides its chunks."""

    shard: ShardOperator | None
    steps: int
    """How many steps the shard has committed."""
    heard: dict[str, Any]
    letters: int
    firings: int


class Turn(NamedTuple):
    """A step under way: how things stood before it and, once all but its commit is done, how they stand after it.

    Whether the commit was reached is for the store to say: it knows how many steps were committed.
    """

    before: Standing
    after: Standing | None = None

    def outcome(self) -> Standing:
        """How things stand, whatever the step came to. Called when the store has settled."""
        after = self.after
        if after is None or after.shard is None:
            return self.before
        after.shard.reload()
        return after if after.shard.steps >= after.steps else self.before
