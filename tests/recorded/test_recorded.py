"""Rows, letters, accounts and documents are those of the commit before, byte for byte; and what it wrote is read."""

from __future__ import annotations

from typing import Any

import pytest

from . import documents, results, shapes, snapshots
from .engines import from_document, to_document
from .groups import GROUPS
from .pipelines import PIPELINES
from .tape import Line


def lines(group: str) -> Any:
    kept = GROUPS[group].kept()
    return pytest.mark.parametrize(("name", "line"), kept.items(), ids=kept)


def assert_same(group: str, name: str, line: Line) -> None:
    told = GROUPS[group].difference(name, line)
    assert not told, told


@pytest.mark.slow
@lines("vectors-embedded")
def test_every_vector_gives_what_it_gave(name: str, line: Line) -> None:
    assert_same("vectors-embedded", name, line)


@pytest.mark.slow
@lines("vectors-spark")
def test_every_vector_gives_what_it_gave_on_the_processor_of_spark(name: str, line: Line) -> None:
    assert_same("vectors-spark", name, line)


@pytest.mark.slow
@lines("shapes-embedded")
def test_every_shape_gives_what_it_gave(name: str, line: Line) -> None:
    assert_same("shapes-embedded", name, line)


@pytest.mark.slow
@lines("shapes-spark")
def test_every_shape_gives_what_it_gave_on_the_processor_of_spark(name: str, line: Line) -> None:
    assert_same("shapes-spark", name, line)


@pytest.mark.slow
@lines("results")
def test_every_shape_gives_what_it_gave_to_those_who_declare_and_read_it(name: str, line: Line) -> None:
    assert_same("results", name, line)


@lines("snapshots")
def test_every_snapshot_that_was_written_is_read_and_gone_on_from(name: str, line: Line) -> None:
    assert_same("snapshots", name, line)


@lines("snapshots")
def test_a_snapshot_that_is_written_now_is_gone_on_from_as_the_one_that_was(name: str, line: Line) -> None:
    """Whether the engine has changed, or only what it can read, is seen from which of the two fails."""
    assert snapshots.gone_on(name, snapshots.taken(name)).line() == line


def test_every_spec_is_written_down_as_it_was() -> None:
    group = GROUPS["documents"]
    told = "\n".join(filter(None, (group.difference(name, line) for name, line in group.kept().items())))
    assert not told, told


@pytest.mark.parametrize("name", documents.IN_FULL)
def test_a_document_that_was_written_is_read(name: str) -> None:
    written = documents.kept()[name]
    assert to_document(from_document(written)) == written == documents.full(name)


@pytest.mark.parametrize("name", shapes.SHAPES)
def test_a_shape_that_is_declared_is_the_shape(name: str) -> None:
    assert results.declared(shapes.SHAPES[name].spec).spec == shapes.SHAPES[name].spec


@pytest.mark.parametrize("group", GROUPS)
def test_every_case_is_recorded(group: str) -> None:
    """Cases that came later are not: what the commit before would have given is not known."""
    assert set(GROUPS[group].kept()) <= set(GROUPS[group].names())


def test_the_recordings_are_of_early_on_time_and_late_firings_and_of_letters() -> None:
    """Else they would guard little."""
    tapes = [snapshots.gone_on(name, snapshots.kept(name)) for name in PIPELINES]
    panes = [pane for tape in tapes for noted in tape.tracks[0].steps for pane in noted.rows["pane"].to_pylist()]
    assert {pane["timing"] for pane in panes} == {"EARLY", "ON_TIME", "LATE"}
    assert {pane["op"] for pane in panes} == {"+I", "-U", "+U", "-D"}
    for group in ("vectors-embedded", "shapes-embedded", "snapshots"):
        recorded = GROUPS[group].kept().values()
        assert sum(line["rows"] for line in recorded) > 100 < sum(line["letters"] for line in recorded) * 10
