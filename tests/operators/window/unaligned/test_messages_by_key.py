"""Messages of sessions, sliding windows and windows of each key's records: readable as long as their windows are.

Each script is compared, step by step, with a list of records that is asked which of them should be readable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fanlight as fl

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Window:
    """A window as `windows()` shows it, and the records it has."""

    key: str | None
    start: Any
    end: Any
    is_expired: bool
    ids: tuple[int, ...]
    offsets: tuple[int, int]

    @property
    def name(self) -> tuple[Any, ...]:
        return self.key, self.start, self.end


KINDS = {
    "session": fl.session("5 us"),
    "session by a column": fl.session(gap_from="gap"),
    "session of at most two": fl.session("5 us", max_count=2),
    "session of at most six long": fl.session("5 us", max_duration="6 us"),
    "sliding": fl.sliding("6 us"),
    "sliding, both": fl.sliding("6 us", "both"),
    "sliding, forward": fl.sliding("6 us", "forward"),
    "counting": fl.counting(3),
    "counting, overlapping": fl.counting(4, every=2),
    "counting by a column": fl.counting(4, every=2, by="place"),
}

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "gap": pa.int64(), "place": pa.int64(), "id": pa.int64()})

records = st.builds(
    dict,
    ts=st.integers(0, 40),
    k=st.sampled_from(["a", "b", None]),
    gap=st.integers(1, 9),
    place=st.integers(1, 20),
)
scripts = st.lists(st.tuples(st.lists(records, max_size=4), st.integers(0, 12)), min_size=1, max_size=12)
retentions = st.builds(
    lambda time, count: fl.retention(time, count=count, messages=True, offsets="offset"),
    st.sampled_from(["0 us", "7 us", "30 us", "forever"]),
    st.sampled_from([None, 1, 2]),
)
triggers = st.sampled_from([fl.at_watermark(), fl.at_watermark(early=fl.after(1)), fl.at_expiry()])


@dataclass(slots=True)
class Message:
    """A record that was accepted, and the expired window it stays with once it has left the live ones."""

    id: int
    time: int
    owner: Window | None = None
    gone: bool = False


@dataclass(slots=True)
class Model:
    """What should be readable, from the windows that there are; nothing of how it is stored."""

    length: int | None
    """How long sliding windows are; None if windows are of another kind."""
    lateness: int
    messages: list[Message] = field(default_factory=list)

    def step(self, came: list[Message], windows: list[Window], watermark: int) -> list[int]:
        """The messages to be read after a step."""
        self.messages = [message for message in [*self.messages, *came] if not message.gone]
        names = {window.name for window in windows if window.is_expired}
        for message in self.messages:
            if message.owner is not None:
                message.gone = message.owner.name not in names
            elif not self.is_live(message, windows, watermark):
                mine = [window for window in windows if window.is_expired and message.id in window.ids]
                message.owner = max(mine, key=lambda window: window.end, default=None)
                message.gone = message.owner is None
        return [message.id for message in self.messages if not message.gone]

    def is_live(self, message: Message, windows: list[Window], watermark: int) -> bool:
        """Whether a live window has it; of sliding windows, whether one can still come that has it."""
        if self.length is not None:
            return message.time + self.length > watermark - self.lateness
        return any(message.id in window.ids for window in windows if not window.is_expired)


def seen(operator: fl.WindowOperator) -> list[Window]:
    return [
        Window(
            row["k"],
            *row["window"].values(),
            row["pane"]["status"] == "expired",
            tuple(row["of"]),
            offsets(row["pane"]),
        )
        for row in operator.windows().to_pylist()
    ]


def offsets(pane: Row) -> tuple[int, int]:
    return pane["first_offset"], pane["last_offset"]


def readable(operator: fl.WindowOperator) -> list[int]:
    return sorted(operator.messages().column("id").to_pylist())


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
@given(scripts, retentions, triggers, st.sampled_from([0, 4]), st.integers(0, 5))
def test_messages_are_readable_as_long_as_their_windows(
    name: str, script: list[tuple[list[Row], int]], kept: fl.Retention, trigger: fl.Trigger, late: int, cut: int
) -> None:
    kind = KINDS[name]
    lateness = 0 if isinstance(kind, fl.Counting) else late
    stream = fl.stream([], time="ts", unit="us", watermark=fl.Explicit()).key_by("k")
    windowed = stream.window(kind, lateness=f"{lateness} us", retention=kept).trigger(trigger)
    spec = windowed.agg(n=fl.count(), of=fl.list("id")).spec
    operator = fl.WindowOperator(spec, schema=SCHEMA)
    model = Model(kind.difference.micros + 1 if isinstance(kind, fl.Sliding) else None, lateness)
    watermark = next_id = 0
    for number, (rows, ahead) in enumerate(script):
        watermark += ahead
        named = [{**row, "id": next_id + i} for i, row in enumerate(rows)]
        next_id += len(rows)
        if rows:
            operator.add(named, offset=named[0]["id"], watermark=watermark)
        else:
            operator.advance(watermark=watermark)
        dead = {letter["record"]["id"] for letter in operator.take_dead_letters().to_pylist()}
        came = [Message(row["id"], row["ts"]) for row in named if row["id"] not in dead]
        expected = model.step(came, seen(operator), watermark)
        assert readable(operator) == expected
        assert all(window.offsets == (min(window.ids), max(window.ids)) for window in seen(operator))
        if number == cut:
            operator = fl.WindowOperator.restore(spec, operator.snapshot())
            assert readable(operator) == expected


@pytest.mark.parametrize("name", KINDS)
def test_after_the_end_of_input_nothing_is_left_that_retention_does_not_keep(name: str) -> None:
    stream = fl.stream([], time="ts", unit="us", watermark=fl.Explicit()).key_by("k")
    windowed = stream.window(KINDS[name], retention=fl.retention("1 hour", messages=True))
    operator = windowed.agg(n=fl.count()).operator()
    operator.add([{"ts": ts, "k": "a", "gap": 3, "place": ts + 1} for ts in range(5)])
    assert operator.messages().num_rows == 5
    operator.end()
    assert operator.messages().num_rows == operator.windows().num_rows == 0


@pytest.mark.parametrize("count", [None, 1])
def test_what_has_been_fired_and_discarded_is_kept_all_the_same(count: int | None) -> None:
    """The session fires both records when it closes at 7, and expires at 12 with nothing pending."""
    stream = fl.stream([], time="ts", unit="us", watermark=fl.Explicit()).key_by("k")
    kept = fl.retention("10 us", count=count, messages=True)
    windowed = stream.window(fl.session("5 us"), lateness="5 us", retention=kept).discarding()
    operator = windowed.agg(n=fl.count()).operator()
    operator.add([{"ts": ts, "k": "a", "id": ts} for ts in (1, 2)])
    for watermark, left in ((7, [1, 2]), (12, [1, 2]), (21, [1, 2]), (22, [])):
        operator.advance(watermark=watermark)
        assert readable(operator) == left
    assert operator.windows().num_rows == 0


def test_positions_of_the_key_are_the_times_of_its_messages() -> None:
    stream = fl.stream([], time="ts", unit="us", watermark=fl.Explicit()).key_by("k")
    windowed = stream.window(fl.counting(2), retention=fl.retention(messages=True))
    operator = windowed.agg(n=fl.count()).operator()
    operator.add([{"ts": 9, "k": key, "id": i} for i, key in enumerate("abaab")])
    assert operator.messages(key="a").to_pydict() == {"ts": [1, 2, 3], "k": ["a", "a", "a"], "id": [0, 2, 3]}
    assert operator.messages(2, 3).column("id").to_pylist() == [2, 4]


def test_a_window_that_did_not_take_a_message_does_not_keep_it() -> None:
    """[0, 5) has expired when 3 comes, whose session is [3, 8): 4 goes with the first, at 15, and 3 with the second."""
    stream = fl.stream([], time="ts", unit="us", watermark=fl.Explicit()).key_by("k")
    windowed = stream.window(fl.session(gap_from="gap"), retention=fl.retention("10 us", messages=True))
    operator = windowed.agg(n=fl.count()).operator()
    operator.add([{"ts": 0, "k": "a", "gap": 5, "id": 0}, {"ts": 4, "k": "a", "gap": 1, "id": 4}], watermark=6)
    operator.add([{"ts": 3, "k": "a", "gap": 5, "id": 3}])
    assert readable(operator) == [0, 3, 4]
    operator.advance(watermark=15)
    assert readable(operator) == [3]
    operator.advance(watermark=18)
    assert readable(operator) == []
