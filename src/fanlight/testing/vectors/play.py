"""Playing a vector's steps on an engine, and noting what came out after each."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fanlight.errors import VectorError
from fanlight.model.firing import Op
from fanlight.model.spec import WindowSpec
from fanlight.model.time.timestamp import Timestamp
from fanlight.testing.vectors.columns import Columns
from fanlight.testing.vectors.declare import updates_replace
from fanlight.testing.vectors.drive import Driver
from fanlight.testing.vectors.load import Vector
from fanlight.testing.vectors.milliseconds import moment
from fanlight.testing.vectors.observe import OP, Row, firing_rows, letter_rows, window_rows
from fanlight.testing.vectors.word import NO_WORD, Word


@dataclass(slots=True)
class PlayedVector:
    """What came out: firings and dead letters of each step, and the live windows after the steps asked about."""

    firings: list[list[Row]] = field(default_factory=list)
    letters: list[list[Row]] = field(default_factory=list)
    states: dict[int, list[Row]] = field(default_factory=dict)


def play_vector(
    vector: Vector, spec: WindowSpec, columns: Columns, driver: Driver, *, states: Collection[int]
) -> PlayedVector:
    """Play every step; `states` are the steps after which the live windows are read."""
    player = _Player(columns, driver, one_by_one=_one_by_one(vector))
    played = PlayedVector()
    replaces = updates_replace(vector)
    for index, step in enumerate(vector.steps):
        player.take(step)
        fired = firing_rows(driver.firings(), spec)
        played.firings.append([row for row in fired if row[OP] != Op.RETRACT.code] if replaces else fired)
        played.letters.append(letter_rows(driver.dead_letters()))
        if index in states:
            played.states[index] = window_rows(driver.state(), spec)
    return played


def _one_by_one(vector: Vector) -> bool:
    bundles = vector.get("bundles", "per_step")
    if bundles not in ("per_record", "per_step"):
        raise VectorError(f"`bundles` ({bundles!r}) must be per_record or per_step.")
    return bool(bundles == "per_record")


@dataclass(slots=True)
class _Player:
    columns: Columns
    driver: Driver
    one_by_one: bool
    waiting: Timestamp | None = 0
    """A clock that no timer has seen yet: it comes along with whatever happens next. Every case begins at 0."""
    ready: bool = False
    finish: bool = False
    """What the scripted trigger says: both hold from the step that says so on."""
    word: Word = NO_WORD
    """What this step says, until something has happened that it came along with."""

    def take(self, step: Mapping[str, Any]) -> None:
        if "ready" in step or "finish" in step:
            self.ready, self.finish = bool(step.get("ready", self.ready)), bool(step.get("finish", self.finish))
            self.word = Word(self.ready, self.finish)
        if "clock" in step:
            self.waiting = moment(step["clock"])
        if "in" in step:
            self._bundles(step["in"] or [])
        if "watermark" in step:
            self.driver.watermark(
                moment(step["watermark"]), side=step.get("side"), clock=self._clock(), word=self._word()
            )
        if "clock" in step and not step.get("no_timers"):
            self._catch_up()
        if self.word != NO_WORD:
            self.driver.signal(self._word())
        if step.get("tick"):
            self.driver.tick()
        if step.get("checkpoint_restore"):
            self.driver.checkpoint_restore()
        if step.get("end"):
            self._catch_up()
            self.driver.end()

    def _bundles(self, records: Sequence[Mapping[str, Any]]) -> None:
        if self.one_by_one:
            bundles = [(record.get("side"), [record]) for record in records]
        else:
            by_side: dict[Any, list[Mapping[str, Any]]] = {}
            for record in records:
                by_side.setdefault(record.get("side"), []).append(record)
            bundles = list(by_side.items())
        for side, bundle in bundles:
            self.driver.bundle(self.columns.batch(bundle), side=side, clock=self._clock(), word=self._word())

    def _catch_up(self) -> None:
        clock = self._clock()
        if clock is not None:
            self.driver.clock(clock, word=self._word())

    def _word(self) -> Word:
        word, self.word = self.word, NO_WORD
        return word

    def _clock(self) -> Timestamp | None:
        clock, self.waiting = self.waiting, None
        return clock
