"""Windows over changes, story by story: what is shown, and what is taken back when nothing is left."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl
from fanlight.model.aggregates import list as listed
from fanlight.model.changes import Changes
from fanlight.model.firing import Accumulation
from fanlight.model.reason import Reason
from fanlight.model.retention import Retention
from fanlight.model.spec import WindowSpec
from fanlight.model.time.duration import Duration
from fanlight.operators.window.plan import Plan
from fanlight.state.memory import MemoryStore
from fanlight.testing.player import play
from fanlight.testing.script import Record, Step, Transcript

SCHEMA = pa.schema({"ts": pa.int64(), "v": pa.int64(), "op": pa.string()})
EARLY = fl.at_watermark(early=fl.after(1), late=fl.after(1))
AGGREGATES = (("total", fl.sum("v")), ("most", fl.max("v")))


def change(time: int, value: int, op: str = "+I") -> Record:
    return {"ts": time, "v": value, "op": op}


def spec(**fields: Any) -> WindowSpec:
    said: dict[str, Any] = {"window": fl.tumbling("10 us"), "aggregates": AGGREGATES, "trigger": EARLY}
    said |= {"watermark": fl.Explicit(), "changes": Changes("op", consistent=True)}
    return WindowSpec("ts", **{**said, **fields})


def told(transcript: Transcript) -> list[tuple[Any, ...]]:
    return [(firing.op.code, *firing.values.values()) for firing in transcript.firings]


class TestPanes:
    STEPS = (
        Step(records=(change(1, 5), change(2, 9))),
        Step(records=(change(2, 9, "-D"),)),
        Step(records=(change(1, 5, "-U"), change(1, 6, "+U"))),
        Step(records=(change(1, 6, "-D"),)),
        Step(records=(change(3, 4),)),
        Step(end=True),
    )

    def test_accumulating_ones_are_updated_and_deleted_and_come_again(self) -> None:
        """The greatest value is computed from what is left: 9 gives way to 5 when it is taken back."""
        assert told(play(spec(updated_only=True), self.STEPS, SCHEMA)) == [
            ("+I", 14, 9),
            ("+U", 5, 5),
            ("+U", 6, 6),
            ("-D", 6, 6),
            ("+I", 4, 4),
        ]

    def test_retracting_ones_are_taken_back_once_when_they_are_empty(self) -> None:
        assert told(play(spec(accumulation=Accumulation.RETRACTING, updated_only=True), self.STEPS, SCHEMA)) == [
            ("+I", 14, 9),
            *(("-U", 14, 9), ("+U", 5, 5)),
            *(("-U", 5, 5), ("+U", 6, 6)),
            ("-D", 6, 6),
            ("+I", 4, 4),
        ]

    def test_one_that_fires_once_is_left_out_where_nothing_is_left(self) -> None:
        steps = [Step(records=(change(1, 5), change(11, 7), change(1, 5, "-D"))), Step(end=True)]
        assert told(play(spec(trigger=fl.at_watermark()), steps, SCHEMA)) == [("+I", 7, 7)]

    def test_a_delete_is_late_like_any_record(self) -> None:
        """The window [0, 10) expired at 12: what it has shown stays."""
        steps = [Step(records=(change(1, 5),), watermark=12), Step(records=(change(1, 5, "-D"),)), Step(end=True)]
        transcript = play(spec(lateness=Duration(2)), steps, SCHEMA)
        assert told(transcript) == [("+I", 5, 5)]
        assert transcript.dead_letters == [(Reason.EXPIRED, change(1, 5, "-D"))]

    def test_what_is_no_operation_is_a_dead_letter(self) -> None:
        transcript = play(spec(), [Step(records=(change(1, 5, "delete"),)), Step(end=True)], SCHEMA)
        assert transcript.dead_letters == [(Reason.NO_SUCH_OPERATION, change(1, 5, "delete"))]
        assert told(transcript) == []


class TestState:
    def test_windows_and_messages_are_what_is_left(self) -> None:
        operator = fl.WindowOperator(spec(retention=Retention(messages=True)), schema=SCHEMA)
        operator.add([change(1, 5), change(2, 9), change(2, 9, "-D"), change(12, 1), change(12, 1, "-D")])
        assert operator.windows().column("total").to_pylist() == [5]
        assert operator.windows().column("pane").to_pylist() == [{"records": 1, "status": "open"}]
        assert operator.messages().column("v").to_pylist() == [5]

    def test_messages_that_are_gone_are_forgotten(self) -> None:
        """A slice is compacted when it has many chunks; what was taken back is not written again."""
        store = MemoryStore()
        operator = fl.WindowOperator(spec(aggregates=(("of", listed("v")),)), schema=SCHEMA, store=store)
        for value in range(40):
            operator.add([change(1, value), change(1, value, "-D")])
        operator.add([change(1, 7)])
        assert operator.take().column("of").to_pylist()[-1] == [7]
        kept = sum(len(store.get(address)) for address in store.list("records"))
        assert kept < 40


class TestRefusals:
    @pytest.mark.parametrize(
        ("fields", "told"),
        [
            ({"accumulation": Accumulation.DISCARDING}, r"`discarding` hands out .* Use accumulating or retracting"),
            ({"firing_time": fl.FiringTime.LATEST}, r"may be taken back.* Say stamped\('end'\)"),
            ({"window": fl.session("5 us")}, r"own Session windows.* fire once and without lateness"),
            (
                {"window": fl.tumbling("5 us", domain="processing")},
                r"another of these Tumbling windows.* sort\(\) them",
            ),
            ({"window": fl.counting(5, per="stream")}, r"another of these Counting windows"),
        ],
    )
    def test_what_cannot_take_changes_says_so(self, fields: dict[str, Any], told: str) -> None:
        with pytest.raises(fl.SpecError, match=told):
            spec(**fields)

    def test_sessions_that_fire_once_may_have_them(self) -> None:
        """They are sorted first."""
        assert spec(window=fl.session("5 us"), trigger=fl.at_watermark()).changes is not None
        with pytest.raises(fl.SpecError, match="without lateness"):
            spec(window=fl.session("5 us"), trigger=fl.at_expiry(), lateness=Duration(3))

    def test_changes_that_nobody_has_made_fit_do_not_get_this_far(self) -> None:
        with pytest.raises(fl.EngineError, match="Normalize them first"):
            Plan.bind(spec(changes=Changes("op")), SCHEMA)
        with pytest.raises(fl.EngineError, match="Sort them first"):
            Plan.bind(spec(window=fl.session("5 us"), trigger=fl.at_watermark()), SCHEMA)
