"""Who follows what: a watermark strategy divided between those who pack records and the shards they are sent to."""

from __future__ import annotations

from dataclasses import replace

from fanlight.model.time.watermarks import BoundedDisorder, Explicit, FixedDistance, Several, WatermarkStrategy


def told_as(strategy: WatermarkStrategy) -> WatermarkStrategy:
    """What is left of a strategy where whoever packs records follows them: they tell what they have reached.

    The clock is followed in the shard, and so are records that are judged one by one or with pauses.
    """
    match strategy:
        case BoundedDisorder(per_record=False, every=None):
            return Explicit()
        case Several(inputs=inputs):
            return replace(strategy, inputs=tuple((name, told_as(one)) for name, one in inputs))  # type: ignore[misc]
    return strategy


def told_by_packer(strategy: WatermarkStrategy) -> WatermarkStrategy:
    """What is left of a strategy for whoever packs records: it follows them, unless the shard does that itself."""
    return strategy if isinstance(strategy, BoundedDisorder) and isinstance(told_as(strategy), Explicit) else Explicit()


def judges_each(strategy: WatermarkStrategy) -> bool:
    """Whether an input is judged record by record, or says its watermark with pauses: all its records must then come
    to one place in their order.
    """
    each = [one for _, one in strategy.inputs] if isinstance(strategy, Several) else [strategy]
    return any(isinstance(one, BoundedDisorder) and (one.per_record or one.every is not None) for one in each)


def follows_clock(strategy: WatermarkStrategy) -> bool:
    """Whether the clock alone moves the watermark: a fixed distance behind it, or an input that has become idle."""
    if isinstance(strategy, Several):
        return strategy.idle is not None or any(follows_clock(one) for _, one in strategy.inputs)
    return isinstance(strategy, FixedDistance)
