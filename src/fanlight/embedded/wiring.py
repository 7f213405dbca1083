"""Which operator takes which stream, and which one it gives: the plan of a composite operator."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from fanlight.errors import SpecError
from fanlight.model.changes import Changes
from fanlight.model.continuation import WINDOW_END, WINDOW_START
from fanlight.model.join.sided import SidedSpec
from fanlight.model.spec import WindowSpec
from fanlight.model.stream_spec import StreamSpec
from fanlight.model.time.watermarks import Several


@dataclass(frozen=True, slots=True)
class Wire:
    """One operator between its streams. It is known by the stream that it gives."""

    spec: StreamSpec
    inputs: tuple[str, ...]
    output: str
    keep: bool = False
    """Whether its rows wait for the caller too, where other operators take them."""

    def __post_init__(self) -> None:
        for name in (*self.inputs, self.output):
            given: object = name
            if not (isinstance(given, str) and given):
                raise SpecError(f"add_operator: {name!r} is no name of a stream. Use a text such as 'orders'.")
        if not self.inputs or len(set(self.inputs)) < len(self.inputs):
            told = ", ".join(self.inputs) or "none"
            raise SpecError(f"add_operator: `inputs` ({told}) must be distinct streams, at least one.")
        if isinstance(self.spec.watermark, Several) and {name for name, _ in self.spec.watermark.inputs} != {
            *self.inputs
        }:
            said = _listed(name for name, _ in self.spec.watermark.inputs)
            raise SpecError(
                f"add_operator: the operator of {self.output!r} takes {_listed(self.inputs)}, and its watermark is "
                f"made of {said}; an input that never speaks would hold it back. Use the same names in both."
            )

    @property
    def is_named(self) -> bool:
        """Whether the operator must be told which of its inputs something is of."""
        return len(self.inputs) > 1 or isinstance(self.spec.watermark, Several)

    def source_of(self, stream: str) -> str | None:
        """How its operator is told that something is of one of its inputs."""
        return stream if self.is_named else None


@dataclass(frozen=True, slots=True)
class Wiring:
    """The operators of a composite, in the order they were added. It checks itself with every one."""

    sources: tuple[str, ...] | None = None
    """The streams that come from outside. None: those that no operator gives."""
    wires: tuple[Wire, ...] = ()

    def plus(self, wire: Wire) -> Wiring:
        """The wiring with one more operator; a `SpecError` if that cannot be."""
        if wire.output in self.outputs:
            raise SpecError(f"add_operator: two operators give {wire.output!r}. Give one stream another name.")
        if wire.output in (self.sources or ()):
            raise SpecError(
                f"add_operator: {wire.output!r} comes from outside, as `sources` say, and the operator gives it too. "
                "Give one of them another name."
            )
        whole = replace(self, wires=(*self.wires, wire))
        if circle := whole._circle(wire.output, (wire.output,)):  # noqa: SLF001 -- its own class
            told = " → ".join(repr(name) for name in circle)
            raise SpecError(f"add_operator: {told} is a cycle; a step would never end. Take another input.")
        for after in whole.wires:
            whole._check_inputs(after)  # noqa: SLF001 -- its own class
        return whole

    @property
    def outputs(self) -> tuple[str, ...]:
        """The streams that operators give."""
        return tuple(wire.output for wire in self.wires)

    @property
    def external(self) -> tuple[str, ...]:
        """The streams that come from outside."""
        taken = dict.fromkeys(name for wire in self.wires for name in wire.inputs)
        return tuple(name for name in taken if name not in self.outputs)

    def takers(self, stream: str) -> tuple[Wire, ...]:
        """The operators that take a stream."""
        return tuple(wire for wire in self.wires if stream in wire.inputs)

    def in_order(self) -> tuple[Wire, ...]:
        """The operators, each after those whose streams it takes; a `SpecError` if one of these comes from nowhere."""
        for name in self.external:
            if self.sources is not None and name not in self.sources:
                takers = _listed(wire.output for wire in self.takers(name))
                raise SpecError(
                    f"CompositeOperator: nobody gives {name!r}, which the operator of {takers} takes, and it is none "
                    f"of the `sources` ({_listed(self.sources)}). Add the operator that gives it, or name it there."
                )
        if not self.wires:
            raise SpecError("CompositeOperator: it has no operators yet. Call add_operator first.")
        done: list[Wire] = []
        known = {*self.external}
        while len(done) < len(self.wires):
            following = next(wire for wire in self.wires if wire not in done and known.issuperset(wire.inputs))
            done.append(following)
            known.add(following.output)
        return tuple(done)

    def as_document(self) -> dict[str, Any]:
        """The streams between operators as JSON data."""
        return {wire.output: {"inputs": list(wire.inputs), "keep": wire.keep} for wire in self.wires}

    def _circle(self, stream: str, way: tuple[str, ...]) -> tuple[str, ...]:
        """The way from the stream that `way` starts with back to it; nothing if there is none."""
        for wire in self.takers(stream):
            if wire.output == way[0]:
                return (*way, way[0])
            if circle := self._circle(wire.output, (*way, wire.output)):
                return circle
        return ()

    def _check_inputs(self, after: Wire) -> None:
        given = [wire for wire in self.wires if wire.output in after.inputs]
        for before in given:
            _check_times(before, after)
        if given and len(after.inputs) > 1 and not isinstance(after.spec.watermark, Several):
            names = ", ".join(f"{name!r}: fl.Explicit()" for name in after.inputs)
            raise SpecError(
                f"add_operator: the operator of {after.output!r} takes {_listed(after.inputs)}, each with a watermark "
                f"of its own, and has one for all. Declare its stream with watermark=fl.several({{{names}}})."
            )


def _check_times(before: Wire, after: Wire) -> None:
    """Refuse an operator that cannot go by the time of what it takes."""
    streams = f"add_operator: the operator of {after.output!r} cannot take {before.output!r}"
    if isinstance(before.spec, WindowSpec) and after.spec.time in (WINDOW_START, WINDOW_END):
        return  # it groups results inside their windows, which always have one
    try:
        onward = before.spec.continuation
    except SpecError as problem:
        raise SpecError(f"{streams}: {problem}") from problem
    time, changes = _asked_of(after.spec, before.output)
    goes_by_time = after.spec.goes_by_input or time in after.spec.columns
    if goes_by_time and time != onward.time:
        raise SpecError(
            f"{streams}: it goes by the time {time!r}, and the watermark that is handed on is about "
            f"{onward.time!r}. Declare it over the result of the operator before, or with time={onward.time!r}."
        )
    if onward.changes is not None and changes is None:
        raise SpecError(
            f"{streams}: its rows take each other's place, and would all be counted. Declare it over the result of "
            "the operator before, which says so."
        )


def _asked_of(spec: StreamSpec, stream: str) -> tuple[str, Changes | None]:
    """Which time an operator goes by in one of its inputs, and how records change earlier ones there."""
    if isinstance(spec, SidedSpec):
        side = next((side for side in spec.sides if side.name == stream), spec.sides[-1])
        return side.time, side.changes
    return spec.time, spec.changes


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
