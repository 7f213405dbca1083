"""The composite operator: standalone operators wired by the names of their streams, which step as one.

    orders ─► counts ─┬─► best ──► the caller
                      └─► sums ──► a downstream

A step goes through all operators that it reaches, each after those whose streams it takes. Their rows are handed on
with the watermark and the clock, as from stage to stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Self

import pyarrow as pa

from fanlight.embedded.parts import Parts, WiredOperator
from fanlight.embedded.sources import Records
from fanlight.embedded.standalone import StandaloneOperator, Turnstile, alone, looking
from fanlight.embedded.wiring import Wire, Wiring
from fanlight.errors import SpecError
from fanlight.model.time.timestamp import Timestamp, TimestampLike
from fanlight.operators.accounting import Accounting
from fanlight.operators.ingest.inputs import Offsets, Said


class CompositeOperator:
    """Several standalone operators as one: what one gives on a stream is taken by all that have it as an input.

    What nobody takes waits for the caller, or goes to the `downstream` of its operator. If that refuses, the first
    operators take nothing more.

    >>> import fanlight as fl
    >>> orders = fl.stream([], time="ts", unit="s").key_by("shop")
    >>> counts = orders.window(fl.tumbling("1 min")).agg(n=fl.count())
    >>> best = counts.window(fl.tumbling("1 h")).agg(most=fl.max("n"))
    >>> shop = fl.CompositeOperator()
    >>> shop.add_operator(counts.operator(), inputs="orders", output="counts")
    >>> shop.add_operator(best.operator(), inputs="counts", output="best")
    >>> shop.add([{"ts": 5, "shop": "a"}, {"ts": 9, "shop": "a"}, {"ts": 70, "shop": "b"}])
    >>> shop.end()
    >>> shop.take("best").column("most").to_pylist()
    [2]
    >>> {name: counts.accepted for name, counts in shop.accounting.items()}
    {'counts': 3, 'best': 2}
    """

    def __init__(self, *, sources: str | Sequence[str] | None = None) -> None:
        """`sources` are the streams that come from outside; without them, those that no operator gives."""
        self._parts = Parts(Wiring(None if sources is None else _names(sources)))
        self._turnstile = Turnstile()

    @alone
    def add_operator(
        self, operator: StandaloneOperator[Any], *, inputs: str | Sequence[str], output: str, keep: bool = False
    ) -> None:
        """Wire an operator between the streams it takes and the one it gives; operators may come in any order.

        From then on it is a part of the whole: its windows can be asked, and steps are taken by the whole. With `keep`
        its rows wait for the caller although other operators take them.
        """
        if self._parts.steps:
            raise SpecError(f"add_operator: {output!r} comes too late, steps were taken. Wire all of it before.")
        if not isinstance(operator, StandaloneOperator):
            raise SpecError(f"add_operator: {operator!r} is no operator. Give one, as in counts.operator().")
        wire = Wire(operator.spec, _names(inputs), output, keep)
        self._parts.wire(operator, wire, self._turnstile, self._parts.recover)

    @alone
    def add(
        self,
        records: Records,
        *,
        offset: Offsets = None,
        source: str | None = None,
        watermark: TimestampLike | None = None,
        clock: TimestampLike | None = None,
        signal: bool | None = None,
        finish: bool = False,
    ) -> None:
        """Take one bundle of the stream `source` in; it need not be named if it is the only one from outside.

        The rest is as for `StandaloneOperator.add`, for the whole: all operators have taken the step, or none. Raises
        `BackPressure` while rows wait that a downstream refused, or for which there is no more room. The clock is told
        to all operators, the signal to all that the step reaches.
        """
        stream = self._external(source)
        self._parts.require_room()
        takers = [part for part in self._parts.in_order if stream in part.wire.inputs]
        records = records if len(takers) == 1 else _read_whole(records)
        came = {part.wire.output: part.operator.read(records, offset, part.wire.source_of(stream)) for part in takers}
        self._parts.step(Said(stream, watermark, clock, signal, finish), came, offset)
        self._parts.offer()

    @alone
    def advance(
        self,
        *,
        watermark: TimestampLike | None = None,
        clock: TimestampLike | None = None,
        source: str | None = None,
        signal: bool | None = None,
        finish: bool = False,
    ) -> None:
        """Move time on without records: that of the stream `source` from outside, or of all.

        Offers refused rows again first. If they are refused again and something is said, it raises `BackPressure`.
        """
        said = Said(None if source is None else self._external(source), watermark, clock, signal, finish)
        if self._parts.offer():
            self._parts.step(said)
            self._parts.offer()
        elif not said.is_nothing:
            self._parts.require_room()

    @alone
    def end(self) -> None:
        """Close and expire every window of every operator: the input has ended."""
        self._parts.require_room()
        self._parts.step(ends=True)
        self._parts.offer()

    @alone
    def results(self, stream: str | None = None) -> pa.Table:
        """The rows of a stream that were not taken yet; they stay until `flush`."""
        return self._waiting(stream).results()

    @alone
    def flush(self, stream: str | None = None) -> None:
        """Drop the rows that `results` showed."""
        self._waiting(stream).outbox.clear()

    @alone
    def take(self, stream: str | None = None) -> pa.Table:
        """`results`, then `flush`; a stream need not be named if it is the only one that waits for the caller."""
        part = self._waiting(stream)
        table = part.results()
        part.outbox.clear()
        return table

    @property
    def operators(self) -> Mapping[str, StandaloneOperator[Any]]:
        """The operators by the stream they give; their windows and messages can be asked."""
        return MappingProxyType({name: part.operator for name, part in self._parts.by_stream.items()})

    @property
    @alone
    def dead_letters(self) -> dict[str, pa.Table]:
        """The dead letters that were not taken yet, by operator."""
        return {name: part.dead_letters() for name, part in self._parts.by_stream.items()}

    @alone
    def take_dead_letters(self) -> dict[str, pa.Table]:
        """Remove and return the dead letters, by operator."""
        return {name: part.dead_letters(take=True) for name, part in self._parts.by_stream.items()}

    @property
    @looking
    def accounting(self) -> dict[str, Accounting]:
        """Where every record went, by operator; each adds up."""
        return {name: replace(part.shard.accounting) for name, part in self._parts.by_stream.items()}

    @property
    @looking
    def watermarks(self) -> dict[str, Timestamp]:
        """The watermark of every stream that an operator gives: what it hands on."""
        return {name: part.handed_on() for name, part in self._parts.by_stream.items()}

    @alone
    def snapshot(self) -> bytes:
        """The state of all operators, including rows not yet taken, as bytes with a version and a checksum."""
        return self._parts.snapshot()

    @classmethod
    def restore(cls, build: Callable[[], Self], data: bytes) -> Self:
        """The composite that `snapshot` was taken of; `build` wires it anew, with the same operators and names."""
        whole = build()
        whole._parts.restore(data)  # noqa: SLF001 -- its own class
        return whole

    def _recover(self) -> None:
        """Complete or undo an interrupted call."""
        self._parts.recover()

    def _waiting(self, stream: str | None) -> WiredOperator:
        """The operator whose rows somebody asks for."""
        kept = self._parts.kept
        if stream is None and len(kept) == 1:
            return next(iter(kept.values()))
        if stream in kept:
            return kept[stream]
        if stream in self._parts.by_stream:
            raise SpecError(
                f"take: the rows of {stream!r} go to other operators, and none waits. Wire its operator with keep=True."
            )
        raise SpecError(f"take: {stream!r} is no stream that waits. Use one of {', '.join(map(repr, kept))}.")

    def _external(self, source: str | None) -> str:
        """The stream from outside that is meant."""
        external = self._parts.wiring.external
        if source is None and len(external) == 1:
            return external[0]
        if source is None or source not in external:
            raise SpecError(
                f"CompositeOperator: `source` ({source!r}) is no stream from outside. "
                f"Use one of {', '.join(map(repr, external)) or 'those that operators take: none was added'}."
            )
        return source


def _names(names: str | Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _read_whole(records: Records) -> Records:
    """Records that can be read more than once."""
    if isinstance(records, pa.RecordBatchReader):
        return records.read_all()
    return list(records) if isinstance(records, Iterator) else records
