"""Every place notes every batch, and refuses one that does not follow what it holds."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from fanlight.errors import SinkError, SpecError
from fanlight.sinks.checked_note import VERSION, checksum_of, content_of
from fanlight.sinks.jsonl import SIDECAR
from fanlight.sinks.ledger import Ledger, accepting

from .orders import handed
from .places import EVERY_PLACE, FIRED, SHAPE, ExamplePlace, FolderPlace, LinesPlace, Place, SqlitePlace


@pytest.fixture(params=EVERY_PLACE.values(), ids=EVERY_PLACE.keys())
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return request.param(tmp_path / "place")  # type: ignore[no-any-return]


def refuses(place: Place, number: int, said: str) -> None:
    """The batch is refused twice, by the look before all sinks and by the write, and nothing is touched."""
    before = place.bytes()
    for offer in (place.sink.check, place.sink.write):
        with pytest.raises(SinkError, match=said):
            offer(place.batch(number))
    assert place.bytes() == before


class TestTheRule:
    @pytest.mark.parametrize(
        ("newest", "number", "expected"),
        [(None, 0, True), (0, 0, False), (4, 5, True), (4, 4, False)],
    )
    def test_the_next_is_written_and_the_newest_skipped(self, newest: int | None, number: int, expected: bool) -> None:
        assert Ledger("p", "q", newest).takes(number, accepts=False) is expected

    @pytest.mark.parametrize(("newest", "number"), [(None, 1), (4, 3), (4, 6), (4, 0)])
    def test_anything_else_is_refused_unless_it_is_accepted(self, newest: int | None, number: int) -> None:
        with pytest.raises(SinkError, match=f"batch {number} of query 'q'.*on_mismatch=\"accept\""):
            Ledger("p", "q", newest).takes(number, accepts=False)
        assert Ledger("p", "q", newest).takes(number, accepts=True)

    def test_the_newest_is_a_repeat_also_for_one_who_accepts(self) -> None:
        assert not Ledger("p", "q", 4).takes(4, accepts=True)

    def test_there_is_no_third_way(self) -> None:
        with pytest.raises(SpecError, match="`on_mismatch` \\('ignore'\\) is neither 'refuse' nor 'accept'"):
            accepting("ignore")


class TestEveryPlace:
    def test_notes_every_batch_and_skips_the_newest(self, place: Place, tmp_path: Path) -> None:
        """Batches 3 and 7 are empty. Each comes twice, the second time with rows it must not take."""
        for number in range(len(FIRED)):
            place.write(number)
            before = place.content()
            place.sink.write(handed(SHAPE, number, FIRED[1]))
            assert place.content() == before
        once = type(place)(tmp_path / "once")
        once.write(*range(len(FIRED)))
        assert place.content() == once.content()

    def test_refuses_a_checkpoint_that_was_put_back(self, place: Place) -> None:
        """All up to 5 would be skipped as repeats, though the batches may hold other records now."""
        place.write(0, 1, 2, 3, 4, 5)
        refuses(place, 2, "its newest batch is 5, and the checkpoint has come to 2 only.*batches 2 to 5 would come a")

    def test_refuses_a_checkpoint_that_was_put_back_by_one_batch(self, place: Place, tmp_path: Path) -> None:
        """Its next batch has the number of the newest that is here, and reads more than that one did."""
        place.write(0, 1, 2)
        with pytest.raises(SinkError, match="it holds a batch 2 already that read other offsets"):
            place.sink.check(place.batch(2, offsets=7))
        with pytest.raises(SinkError, match="the checkpoint was put back by one batch"):
            place.sink.write(place.batch(2, offsets=7))
        before = place.content()
        place.write(2)
        assert place.content() == before
        place.sink.write(place.batch(2, offsets=7, accepts=True))
        place.sink.write(place.batch(2, offsets=7))
        place.write(3)

    def test_refuses_a_gap(self, place: Place) -> None:
        place.write(0, 1, 2)
        refuses(place, 4, "its newest batch is 2, and the checkpoint has come to 4.*batch 3 would be missing here")

    def test_refuses_one_that_was_empty_too(self, place: Place) -> None:
        place.write(0, 1, 2, 3, 4)
        refuses(place, 3, "its newest batch is 4")

    def test_refuses_to_go_on_where_what_it_held_was_removed(self, place: Place) -> None:
        place.write(0, 1, 2)
        shutil.rmtree(place.folder)
        with pytest.raises(SinkError, match=r"it knows nothing of this query.*batches 0 to 2 would be missing here"):
            place.sink.check(place.batch(3))
        with pytest.raises(SinkError, match="Put back the place as it was after batch 2"):
            place.write(3)

    def test_goes_on_in_a_new_place_if_that_is_accepted(self, place: Place) -> None:
        """As a place does that is added to a query later."""
        place.write(4, accepts=True)
        place.write(5, 6, 7)
        assert place.content()
        refuses(place, 5, "its newest batch is 7")

    def test_what_comes_back_into_place_is_taken(self, place: Place, tmp_path: Path) -> None:
        """The first way on: the place as it was after the batch before."""
        place.write(0, 1)
        shutil.copytree(place.folder, tmp_path / "copy")
        place.write(2, 3, 4)
        refuses(place, 2, "Put back the place as it was after batch 1, or the checkpoint as it was after batch 4")
        shutil.rmtree(place.folder)
        shutil.copytree(tmp_path / "copy", place.folder)
        place.write(2, 3, 4)
        once = type(place)(tmp_path / "once")
        once.write(0, 1, 2, 3, 4)
        assert place.content() == once.content()


class TestAccepted:
    """Batches 2 to 4 come a second time, on purpose; the first of them is accepted, the others follow."""

    def again(self, place: Place) -> Place:
        place.write(0, 1, 2, 3, 4)
        place.write(2, accepts=True)
        place.write(3, 4, 5)
        return place

    def test_a_database_holds_each_batch_once(self, tmp_path: Path) -> None:
        once = SqlitePlace(tmp_path / "once")
        once.write(0, 1, 2, 3, 4, 5)
        assert self.again(SqlitePlace(tmp_path / "again")).content() == once.content()

    def test_a_folder_holds_each_batch_once_and_sets_the_others_aside(self, tmp_path: Path) -> None:
        once = FolderPlace(tmp_path / "once")
        once.write(0, 1, 2, 3, 4, 5)
        again = self.again(FolderPlace(tmp_path / "again"))
        assert again.content() == once.content()
        aside = tmp_path / "again" / "t" / "_aside" / "1"
        assert sorted(folder.name for folder in aside.iterdir()) == ["batch=00000002", "batch=00000004"]

    def test_the_sink_of_the_example_holds_each_batch_once(self, tmp_path: Path) -> None:
        once = ExamplePlace(tmp_path / "once")
        once.write(0, 1, 2, 3, 4, 5)
        assert self.again(ExamplePlace(tmp_path / "again")).content() == once.content()

    def test_a_file_of_lines_holds_them_twice(self, tmp_path: Path) -> None:
        once = LinesPlace(tmp_path / "once")
        once.write(0, 1, 2, 3, 4, 5)
        first, second = len(FIRED[0]) + len(FIRED[1]), len(FIRED[2]) + len(FIRED[4])
        lines = once.content()
        assert self.again(LinesPlace(tmp_path / "again")).content() == [
            *lines[: first + second],
            *lines[first:],
        ]


class TestADatabase:
    def test_refuses_to_go_on_without_a_table_that_was_dropped(self, tmp_path: Path) -> None:
        place = SqlitePlace(tmp_path)
        place.write(0, 1)
        with closing(sqlite3.connect(place.file)) as connection:
            connection.execute("DROP TABLE totals_dead_letters")
            connection.commit()
        gone = "table totals_dead_letters, did not take batch 2.*notes batches up to 1 in it, and the table is gone"
        for _ in range(2):  # it is not created on the way
            with pytest.raises(SinkError, match=gone):
                place.write(2)
            with pytest.raises(SinkError, match=gone):
                place.sink.check(place.batch(2))
        place.write(2, accepts=True)
        place.write(3)

    def test_creates_nothing_for_a_batch_it_refuses(self, tmp_path: Path) -> None:
        place = SqlitePlace(tmp_path)
        with pytest.raises(SinkError, match="it knows nothing of this query"):
            place.write(3)
        with closing(sqlite3.connect(place.file)) as connection:
            assert list(connection.execute("SELECT name FROM sqlite_master")) == []

    def test_knows_the_batches_of_two_queries_apart(self, tmp_path: Path) -> None:
        place = SqlitePlace(tmp_path)
        place.write(0, 1, 2)
        for number in range(3):
            place.sink.write(handed(SHAPE, number, FIRED[number], query="other"))
        with pytest.raises(SinkError, match="batch 1 of query 'other': its newest batch is 2"):
            place.sink.write(handed(SHAPE, 1, FIRED[1], query="other"))


class TestAFolder:
    def ledger(self, place: Place) -> Path:
        return place.folder / "t" / "_fanlight.json"

    def test_a_folder_in_place_that_was_not_noted_is_taken_as_it_is(self, tmp_path: Path) -> None:
        """Killed between the rename and the note: the batch is there whole, and comes again with the same rows."""
        place = FolderPlace(tmp_path)
        place.write(0)
        noted = self.ledger(place).read_bytes()
        place.write(1)
        content = place.content()
        self.ledger(place).write_bytes(noted)
        place.write(1, 1, 2)
        assert place.content()[:2] == content
        assert [name for name, _ in place.content()] == ["batch=00000000", "batch=00000001", "batch=00000002"]

    def test_an_empty_batch_leaves_no_folder_but_for_the_first(self, tmp_path: Path) -> None:
        place = FolderPlace(tmp_path)
        for number, rows in enumerate([FIRED[3], FIRED[3], FIRED[1]]):
            place.sink.write(handed(SHAPE, number, rows))
        assert [(name, len(rows)) for name, rows in place.content()] == [
            ("batch=00000000", 0),
            ("batch=00000002", len(FIRED[1])),
        ]

    def test_refuses_to_go_on_without_its_newest_rows(self, tmp_path: Path) -> None:
        """Batch 3 is empty, so the newest that has a folder is 2."""
        place = FolderPlace(tmp_path)
        place.write(0, 1, 2, 3)
        shutil.rmtree(tmp_path / "t" / "batch=00000002")
        refuses(place, 4, "its newest batch with rows, batch=00000002, was there and is gone")
        place.write(4, accepts=True)
        place.write(5)

    def test_goes_on_without_them_if_that_is_accepted_also_with_an_empty_batch(self, tmp_path: Path) -> None:
        place = FolderPlace(tmp_path)
        place.write(0, 1, 2)
        shutil.rmtree(tmp_path / "t" / "batch=00000002")
        place.write(3, accepts=True)
        place.write(4)

    def test_batches_that_nothing_says_whose_they_are_stay_alone(self, tmp_path: Path) -> None:
        place = FolderPlace(tmp_path)
        place.write(0, 1)
        self.ledger(place).unlink()
        refuses(place, 2, "it holds batches, and _fanlight.json, which says whose, is not there")
        refuses(place, 0, "it holds batches")

    def test_every_bit_of_its_ledger_counts(self, tmp_path: Path) -> None:
        place = FolderPlace(tmp_path)
        place.write(0, 1)
        every_bit_counts(place, self.ledger(place))

    def test_what_was_set_aside_before_stays(self, tmp_path: Path) -> None:
        place = FolderPlace(tmp_path)
        place.write(0, 1, 2)
        for _ in range(2):
            place.write(1, accepts=True)
            place.write(2)
        aside = sorted(str(path.relative_to(tmp_path / "t" / "_aside")) for path in tmp_path.glob("t/_aside/*/*"))
        assert aside == ["1/batch=00000001", "1/batch=00000002", "2/batch=00000001", "2/batch=00000002"]
        assert pq.read_table(tmp_path / "t").num_rows == sum(len(FIRED[number]) for number in range(3))


def every_bit_counts(place: Place, note: Path) -> None:
    """With any bit of its note turned, a place refuses the next batch, or the note says the same as before."""
    data = note.read_bytes()
    said = json.loads(data)
    silent = []
    for bit in range(8 * len(data)):
        turned = bytearray(data)
        turned[bit // 8] ^= 1 << bit % 8
        note.write_bytes(turned)
        if content_of(turned.decode(errors="replace")) is not None:
            silent.append(json.loads(turned))
            place.sink.check(place.batch(2))
        elif bit % 31 == 0:
            refuses(place, 2, "is damaged: it is not what Fanlight wrote")
    assert all(content == said for content in silent)
    for piece in (b"", data[: len(data) // 2], b"[]", b'{"query": "q", "batch": 1}'):
        note.write_bytes(piece)
        refuses(place, 2, "is damaged")
    note.write_bytes(data)
    place.write(2)


class TestAFileOfLines:
    def sidecar(self, place: Place) -> Path:
        return place.folder / f"t.jsonl{SIDECAR}"

    @pytest.mark.parametrize("cut", [1, 100, None])
    def test_a_file_that_is_shorter_than_noted_is_refused(self, tmp_path: Path, cut: int | None) -> None:
        """It was filled with NULs up to the noted length, and the query went on."""
        place = LinesPlace(tmp_path)
        place.write(0, 1)
        whole = place.file.read_bytes()
        place.file.write_bytes(b"" if cut is None else whole[:-cut])
        held = 0 if cut is None else len(whole) - cut
        refuses(place, 2, rf"it holds {held} bytes, and t\.jsonl\.fanlight notes {len(whole)} bytes up to batch 1")
        refuses(place, 1, "rows that were written are lost")
        place.file.write_bytes(whole)
        place.write(2)

    def test_a_file_that_is_gone_is_refused_and_the_query_can_go_on_without_it(self, tmp_path: Path) -> None:
        place = LinesPlace(tmp_path)
        place.write(0, 1)
        noted = place.file.stat().st_size
        place.file.unlink()
        refuses(place, 2, rf"the file is gone \(0 bytes\), and .* notes {noted} bytes.* move it away with its")
        self.sidecar(place).unlink()
        refuses(place, 2, "it knows nothing of this query")
        place.write(2, accepts=True)
        place.write(3, 4)
        assert len(place.content()) == len(FIRED[2]) + len(FIRED[4])

    def test_every_bit_of_its_sidecar_counts(self, tmp_path: Path) -> None:
        place = LinesPlace(tmp_path)
        place.write(0, 1)
        every_bit_counts(place, self.sidecar(place))

    def test_a_damaged_line_is_found_when_the_query_starts_again(self, tmp_path: Path) -> None:
        place = LinesPlace(tmp_path)
        place.write(0, 1)
        whole = place.file.read_bytes()
        turned = bytearray(whole)
        turned[len(whole) // 2] ^= 1
        place.file.write_bytes(turned)
        said = rf"its first {len(whole)} bytes are not those that were written up to batch 1, so it is damaged"
        with pytest.raises(SinkError, match=said):
            place.sink.check(place.batch(2))
        assert place.file.read_bytes() == turned
        place.file.write_bytes(whole + b"torn")  # what a crash leaves behind the noted length is no damage
        place.sink.check(place.batch(2))
        place.write(2)

    def test_a_sidecar_of_a_newer_version_is_left_alone(self, tmp_path: Path) -> None:
        place = LinesPlace(tmp_path)
        place.write(0, 1)
        content: dict[str, Any] = json.loads(self.sidecar(place).read_text())
        del content["checksum"]
        newer = content | {"version": VERSION + 1}
        self.sidecar(place).write_text(json.dumps({**newer, "checksum": checksum_of(newer)}))
        refuses(place, 2, "has version 2, and this Fanlight reads version 1")
