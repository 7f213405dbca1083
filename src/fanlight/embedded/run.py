"""Run a pipeline in this process, from the start of its source to the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import pyarrow as pa

from fanlight.embedded.feed import Brought, Feed, StageRun, Stepped
from fanlight.embedded.kept_letters import KeptLetters
from fanlight.embedded.one_bundle import warn_of_one_bundle
from fanlight.embedded.standalone import StandaloneOperator
from fanlight.errors import InputError, SpecError
from fanlight.model.preparation import Intake
from fanlight.model.stream_spec import StreamSpec
from fanlight.operators.accounting import Accounting
from fanlight.operators.outbox import one_table

LettersHeard = Callable[[pa.Table], object]
"""Called with the dead letters of each step that has any."""


class EmbeddedRun:
    """One run of a spec over what feeds it: a source, the stage before, or several of them."""

    def __init__(
        self,
        spec: StreamSpec,
        feed: Feed,
        *,
        intakes: Mapping[str, Intake] | None = None,
        schema: pa.Schema | None = None,
        strict: bool = False,
    ) -> None:
        self.spec = spec
        self._feed = feed
        self._settings = {"intakes": intakes, "schema": schema, "strict": strict}
        self._operator: StandaloneOperator[StreamSpec] = StandaloneOperator(
            spec, intakes=intakes, schema=schema, strict=strict
        )
        self._table: pa.Table | None = None
        self.letters = KeptLetters()
        self._hears_letters: LettersHeard | None = None
        self._started = False
        self._finished = False
        self.followed_by: StageRun | None = None
        """The run that reads this one, if there is one."""
        for run in feed.runs:
            run.followed_by = run.followed_by or self

    def again(self, runs: Mapping[StageRun, StageRun] = MappingProxyType({})) -> EmbeddedRun:
        """The same run, from the start; over `runs` in the place of the stages before it."""
        run = EmbeddedRun(self.spec, self._feed.again(runs), **self._settings)  # type: ignore[arg-type]
        run._hears_letters = self._hears_letters
        return run

    @property
    def intakes(self) -> Mapping[str, Intake] | None:
        """What is done to the records of each input first."""
        return self._settings["intakes"]  # type: ignore[return-value]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """The firings, batch by batch, as the source is read; only the newest dead letters are kept."""
        if self._table is not None:
            yield from self._table.to_batches()
            return
        for step in self.steps(bounded=True):
            yield from step.fired

    def steps(self, *, bounded: bool = False) -> Iterator[Stepped]:
        """The steps, as the source is read; the last one is its end. `bounded` keeps only the newest dead letters."""
        if self._started:
            raise InputError(
                "This pipeline has been read already, and rows that have left an iteration are not kept. Say table() "
                "first: it keeps them, and the result can be iterated over after it. Or declare the pipeline again; "
                "over a new source, if this one can be read once."
            )
        self._started = True
        for brought in self._feed.steps(self._operator.remarks, bounded=bounded):
            self._operator.add_all(brought.arrivals)
            if not brought.ends:
                yield self._stepped(bounded)
        if self._feed.is_one_bundle and self._operator.accounting.received > 1:
            warn_of_one_bundle(self.spec)
        self._operator.end()
        yield self._stepped(bounded, ends=True)
        self._finished = True

    def brought(self) -> Iterator[Brought]:
        """What its feed brings, step by step, to whoever reads it in the place of this run."""
        return self._feed.steps(self._operator.remarks, bounded=False)

    def finish(self) -> None:
        """Read the source to its end, unless an iteration is under way: then only what it has read is known.

        A stage that another one reads is read by it, so that the rows are there for both.
        """
        if self._started:
            return
        if self.followed_by is None:
            self.table()
        else:
            self.followed_by.finish()

    def table(self, heard: Callable[[int], None] | None = None) -> pa.Table:
        """All firings. Reads the source to its end the first time; `heard` is told how many records have come."""
        if self._table is None:
            fired: list[pa.RecordBatch] = []
            for step in self.steps():
                fired += step.fired
                if heard is not None:
                    heard(self._operator.accounting.received)
            self._table = one_table(fired) if fired else self._operator.results()
        return self._table

    def hand_on_letters(self, function: LettersHeard) -> None:
        """Give the dead letters of each step to `function` instead of keeping them."""
        if self._started:
            raise InputError(
                "on_dead_letters: this pipeline has been read already. Say it before the first row is read."
            )
        self._hears_letters = function

    @property
    def hands_on_letters(self) -> bool:
        """Whether a function hears the dead letters."""
        return self._hears_letters is not None

    def dead_letters(self) -> pa.Table:
        """The kept dead letters: records that could not be used."""
        if self._hears_letters is not None:
            raise SpecError("dead_letters: they are handed to the function of on_dead_letters, and none is kept here.")
        return self.letters.table()

    @property
    def columns(self) -> pa.Schema | None:
        """The columns of the records that its operator sees; None while they are not known."""
        if not self._operator.is_bound:
            return None
        return pa.schema(list(self._operator.dead_letters.schema.field("record").type))

    @property
    def accounting(self) -> Accounting:
        """Where every record went."""
        return self._operator.accounting

    @property
    def accounting_by_input(self) -> dict[str, Accounting]:
        """Where the records of each input went."""
        return self._operator.accounting_by_input

    def _stepped(self, bounded: bool, *, ends: bool = False) -> Stepped:
        letters = self._operator.take_dead_letters() if self._operator.is_bound else pa.table({})
        if self._hears_letters is None:
            self.letters.add(letters, bounded=bounded)
        elif len(letters):
            self._hears_letters(letters)
        rows = self._operator.take()
        columns = rows.schema if self._operator.is_bound else None
        return Stepped(rows.to_batches(), self._operator.watermark, self._operator.clock, ends, columns)
