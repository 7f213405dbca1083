"""Reading: what windows hold and which records are kept, while they live and for as long as retention says."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import fanlight as fl

S = 1_000_000
TUMBLING = fl.tumbling("10 s")
BY_HAND = fl.stream([], time="ts", unit="s", watermark=fl.Explicit()).key_by("k")


def order(ts: int, k: str | None = "tea", v: int = 1) -> dict[str, Any]:
    return {"ts": ts, "k": k, "v": v}


def seen(table: pa.Table) -> list[tuple[Any, ...]]:
    """What `windows()` shows, as (start in seconds, key, count, status)."""
    return [
        (int(row["window"]["start"].timestamp()), row["k"], row["n"], row["pane"]["status"])
        for row in table.to_pylist()
    ]


def starts(operator: fl.WindowOperator, status: str = "expired") -> list[int]:
    return [start for start, _, _, now in seen(operator.windows()) if now == status]


def times(table: pa.Table) -> list[int]:
    """When the messages happened, in seconds."""
    return [int(time.timestamp()) for time in table.column("ts").to_pylist()]


class TestWindows:
    PIPELINE = BY_HAND.window(TUMBLING, lateness="20 s").agg(n=fl.count(), total=fl.sum("v"), p50=fl.median("v"))

    def busy(self) -> fl.WindowOperator:
        operator = self.PIPELINE.operator()
        operator.add([order(1, v=2), order(9, v=6), order(12, v=3), order(12, "milk"), order(25)])
        operator.advance(watermark=20 * S)
        return operator

    def test_show_their_values_so_far_and_whether_they_are_closed(self) -> None:
        """The watermark is 20: [0, 10) and [10, 20) have closed and wait for late records; [20, 30) is open."""
        assert seen(self.busy().windows()) == [
            (0, "tea", 2, "closed"),
            (10, "milk", 1, "closed"),
            (10, "tea", 1, "closed"),
            (20, "tea", 1, "open"),
        ]

    def test_say_what_they_would_fire_and_how_many_records_they_have(self) -> None:
        row = self.busy().windows().to_pylist()[0]
        assert (row["n"], row["total"], row["p50"], row["pane"]["records"]) == (2, 8, 4.0, 2)

    @pytest.mark.parametrize(
        ("start", "end", "found"),
        [
            (None, None, [0, 10, 10, 20]),
            (10, 20, [10, 10]),  # [0, 10) ends where the range starts, [20, 30) starts where it ends
            (9, 21, [0, 10, 10, 20]),
            (None, 10, [0]),
            (20, None, [20]),
            (30, 40, []),
        ],
    )  # fmt: skip
    def test_are_found_by_the_time_they_overlap(self, start: Any, end: Any, found: list[int]) -> None:
        table = self.busy().windows(start and start * S, end and end * S)
        assert [row[0] for row in seen(table)] == found

    def test_may_be_asked_for_in_words(self) -> None:
        table = self.busy().windows("1970-01-01T00:00:20Z", "1970-01-01T00:00:30Z")
        assert [row[0] for row in seen(table)] == [20]

    def test_change_nothing_by_being_read(self) -> None:
        operator, quiet = self.busy(), self.busy()
        for _ in range(3):
            operator.windows()
        operator.end()
        quiet.end()
        assert operator.take().to_pylist() == quiet.take().to_pylist()

    def test_that_expired_are_gone_without_retention(self) -> None:
        operator = self.busy()
        operator.advance(watermark=30 * S)
        assert [row[0] for row in seen(operator.windows())] == [10, 10, 20]
        operator.end()
        assert operator.windows().num_rows == 0

    def test_that_overlap_are_gone_one_by_one(self) -> None:
        """A record at 7 is in [0, 10) and [5, 15). At 12 the first has expired, though its records are still needed."""
        operator = BY_HAND.window(fl.hopping("10 s", every="5 s")).agg(n=fl.count()).operator()
        operator.add([order(3), order(7)], watermark=12 * S)
        assert seen(operator.windows()) == [(5, "tea", 1, "open")]

    def test_that_discard_show_what_has_not_been_fired(self) -> None:
        windowed = BY_HAND.window(TUMBLING).trigger(fl.at_watermark(early=fl.after(2)))
        operator = windowed.discarding().agg(n=fl.count()).operator()
        operator.add([order(1), order(2)])
        assert operator.take().num_rows == 1
        operator.add([order(3)])
        assert seen(operator.windows()) == [(0, "tea", 1, "open")]

    def test_keep_their_columns_apart_from_keys_of_any_name(self) -> None:
        """A key may well be called status."""
        stream = fl.stream([], time="ts", unit="s").key_by("status")
        operator = stream.window(TUMBLING).agg(n=fl.count()).operator()
        operator.add([{"ts": 1, "status": "paid"}])
        names = operator.windows().schema.names
        assert len(set(names)) == len(names)


class TestMessages:
    def test_are_kept_where_an_aggregate_needs_them(self) -> None:
        """Only what it needs of them: the time, the key and the column of the median."""
        operator = BY_HAND.window(TUMBLING).agg(p50=fl.median("v")).operator()
        operator.add([{**order(9, v=6), "note": "x"}, {**order(1, v=2), "note": "y"}, {**order(12), "note": "z"}])
        messages = operator.messages()
        assert messages.schema.names == ["ts", "k", "v"]
        assert times(messages) == [1, 9, 12]
        operator.advance(watermark=10 * S)
        assert times(operator.messages()) == [12]

    def test_are_not_kept_where_none_does(self) -> None:
        operator = BY_HAND.window(TUMBLING).agg(n=fl.count()).operator()
        operator.add([order(1)])
        with pytest.raises(fl.EngineError, match=r"keeps no messages.*retention=retention\(messages=True\)"):
            operator.messages()

    def test_are_kept_whole_where_retention_says_so(self) -> None:
        windowed = BY_HAND.window(TUMBLING, retention=fl.retention("1 min", messages=True))
        operator = windowed.agg(n=fl.count()).operator()
        operator.add([{**order(9), "note": "x"}])
        assert operator.messages().schema.names == ["ts", "k", "v", "note"]
        assert operator.messages().column("note").to_pylist() == ["x"]

    def busy(self) -> fl.WindowOperator:
        operator = BY_HAND.window(TUMBLING).agg(all=fl.list("v")).operator()
        operator.add([order(12, v=1), order(5, v=2), order(5, "milk", v=3), order(5, None, v=4), order(1, v=5)])
        return operator

    def test_come_by_time_then_as_they_arrived(self) -> None:
        assert self.busy().messages().column("v").to_pylist() == [5, 2, 3, 4, 1]

    @pytest.mark.parametrize(
        ("start", "end", "found"), [(5, 12, [5, 5, 5]), (None, 5, [1]), (6, None, [12]), (13, None, []), (2, 5, [])]
    )
    def test_are_found_by_time_the_end_left_out(self, start: Any, end: Any, found: list[int]) -> None:
        assert times(self.busy().messages(start and start * S, end and end * S)) == found

    @pytest.mark.parametrize(("key", "found"), [("tea", [5, 2, 1]), ("milk", [3]), ((None,), [4]), ("beer", [])])
    def test_are_found_by_key(self, key: Any, found: list[int]) -> None:
        assert self.busy().messages(key=key).column("v").to_pylist() == found

    def test_are_found_by_every_part_of_the_key(self) -> None:
        stream = fl.stream([], time="ts", unit="s").key_by("k", "shop")
        operator = stream.window(TUMBLING).agg(all=fl.list("v")).operator()
        operator.add([{**order(ts, v=ts), "shop": shop} for ts, shop in ((1, 1), (2, 2), (3, 1), (4, None))])
        assert operator.messages(key=("tea", 1)).column("v").to_pylist() == [1, 3]
        assert operator.messages(key=("tea", None)).column("v").to_pylist() == [4]
        with pytest.raises(fl.InputError, match=r"`key` \('tea'\) has 1 values.*keyed by k, shop\. Give one value for"):
            operator.messages(key="tea")


class TestRetention:
    def test_by_time_counts_from_the_expiry(self) -> None:
        """[0, 10) expires at 15, and stays readable until the watermark reaches 15 + 20."""
        pipeline = BY_HAND.window(TUMBLING, lateness="5 s", retention=fl.retention("20 s")).agg(n=fl.count())
        operator = pipeline.operator()
        operator.add([order(1), order(2)], watermark=15 * S - 1)
        assert seen(operator.windows()) == [(0, "tea", 2, "closed")]
        for moment in (15 * S, 35 * S - 1):
            operator.advance(watermark=moment)
            assert seen(operator.windows()) == [(0, "tea", 2, "expired")]
        operator.advance(watermark=35 * S)
        assert operator.windows().num_rows == 0

    def test_by_count_keeps_the_newest(self) -> None:
        operator = BY_HAND.window(TUMBLING, retention=fl.retention(count=2)).agg(n=fl.count()).operator()
        operator.add([order(1), order(12), order(23), order(1, "milk")], watermark=10 * S)
        assert starts(operator) == [0, 0]  # one window, of two keys
        operator.advance(watermark=20 * S)
        assert starts(operator) == [0, 0, 10]
        operator.advance(watermark=30 * S)
        assert starts(operator) == [10, 20]

    def test_by_both_takes_what_ends_first(self) -> None:
        windowed = BY_HAND.window(TUMBLING, retention=fl.retention("25 s", count=2))
        operator = windowed.agg(n=fl.count()).operator()
        operator.add([order(1), order(12), order(23)], watermark=30 * S)
        assert starts(operator) == [10, 20]  # by count
        operator.advance(watermark=45 * S)
        assert starts(operator) == [20]  # by time: 20 + 25

    def test_of_no_time_keeps_nothing(self) -> None:
        operator = BY_HAND.window(TUMBLING, retention=fl.retention("0 s")).agg(n=fl.count()).operator()
        operator.add([order(1)], watermark=10 * S)
        assert operator.windows().num_rows == 0

    @pytest.mark.parametrize("lateness", ["0 s", "5 s"])
    def test_what_is_kept_never_changes_again(self, lateness: str) -> None:
        windowed = BY_HAND.window(TUMBLING, lateness=lateness, retention=fl.retention("1 min", messages=True))
        operator = windowed.agg(n=fl.count(), all=fl.list("v")).operator()
        operator.add([order(1, v=7)], watermark=15 * S)
        before = operator.windows(0, 10 * S).to_pylist(), operator.messages().to_pylist()
        operator.add([order(2, v=8)])
        assert operator.dead_letters.column("reason").to_pylist() == ["expired"]
        assert (operator.windows(0, 10 * S).to_pylist(), operator.messages().to_pylist()) == before
        assert before[0][0]["all"] == [7]

    @pytest.mark.parametrize("early", [None, fl.after(100)], ids=["fires once", "may fire early"])
    def test_of_windows_that_overlap_keeps_each_once(self, early: fl.Trigger | None) -> None:
        """Of 3 and 7, [-5, 5) has the first, [0, 10) has both, [5, 15) the second. At 12 two of them have expired."""
        windowed = BY_HAND.window(fl.hopping("10 s", every="5 s"), retention=fl.retention("1 min"))
        operator = windowed.trigger(fl.at_watermark(early=early)).agg(n=fl.count()).operator()
        operator.add([order(3), order(7)], watermark=12 * S)
        assert seen(operator.windows()) == [
            (-5, "tea", 1, "expired"),
            (0, "tea", 2, "expired"),
            (5, "tea", 1, "open"),
        ]

    def test_of_messages_keeps_them_as_long_as_their_last_window(self) -> None:
        """The record at 7 is in [0, 10), kept until 20, and in [5, 15), kept until 25; the one at 3 until 20."""
        kept = fl.retention("10 s", messages=True)
        operator = BY_HAND.window(fl.hopping("10 s", every="5 s"), retention=kept).agg(n=fl.count()).operator()
        operator.add([order(3), order(7)], watermark=20 * S - 1)
        assert times(operator.messages()) == [3, 7]
        operator.advance(watermark=20 * S)
        assert times(operator.messages()) == [7]
        operator.advance(watermark=25 * S)
        assert times(operator.messages()) == []

    def test_of_messages_follows_the_count_too(self) -> None:
        kept = fl.retention(count=1, messages=True)
        operator = BY_HAND.window(TUMBLING, retention=kept).agg(n=fl.count()).operator()
        operator.add([order(1), order(12), order(23)], watermark=20 * S)
        assert times(operator.messages()) == [12, 23]

    def test_changes_no_firing(self) -> None:
        rows = []
        for kept in (None, fl.retention("1 min", messages=True), fl.retention(count=1)):
            windowed = BY_HAND.window(TUMBLING, lateness="5 s", retention=kept)
            operator = windowed.trigger(fl.at_watermark(early=fl.after(1))).retracting().agg(n=fl.count()).operator()
            for ts in (1, 12, 3, 30, 14):
                operator.add([order(ts)], watermark=(ts - 2) * S)
            operator.end()
            rows.append(operator.take().to_pylist())
        assert rows[0] == rows[1] == rows[2]

    def test_survives_a_restart(self) -> None:
        windowed = BY_HAND.window(TUMBLING, retention=fl.retention("20 s", messages=True))
        spec = windowed.agg(n=fl.count()).spec
        operator = fl.WindowOperator(spec)
        operator.add([order(1), order(12)], watermark=10 * S)
        again = fl.WindowOperator.restore(spec, operator.snapshot())
        assert seen(again.windows()) == [(0, "tea", 1, "expired"), (10, "tea", 1, "open")]
        assert times(again.messages()) == [1, 12]
        again.advance(watermark=30 * S)
        assert starts(again) == [10]

    def test_of_a_pipeline_that_fired_early_keeps_the_final_values(self) -> None:
        """Whether there was a look before the close makes no difference to what is readable after it."""
        windowed = BY_HAND.window(TUMBLING, retention=fl.retention("1 min"))
        for early in (None, fl.after(1)):
            operator = windowed.trigger(fl.at_watermark(early=early, late=None)).agg(n=fl.count()).operator()
            operator.add([order(1), order(2)], watermark=10 * S)
            assert seen(operator.windows()) == [(0, "tea", 2, "expired")]

    def test_of_messages_does_not_ask_what_has_been_fired(self) -> None:
        """Discarding panes drop their content when they fire; their records are kept all the same."""
        windowed = BY_HAND.window(TUMBLING, lateness="5 s", retention=fl.retention("1 min", messages=True))
        operator = windowed.discarding().agg(n=fl.count()).operator()
        operator.add([order(1), order(2)])
        operator.advance(watermark=10 * S)  # fires both
        operator.advance(watermark=15 * S)  # expires with nothing pending
        assert times(operator.messages()) == [1, 2]

    @pytest.mark.parametrize("lateness", ["0 s", "5 s", "forever"])
    def test_ends_with_the_input(self, lateness: str) -> None:
        windowed = BY_HAND.window(TUMBLING, lateness=lateness, retention=fl.retention("1 hour", messages=True))
        operator = windowed.agg(n=fl.count()).operator()
        operator.add([order(1), order(12)], watermark=10 * S)
        operator.end()
        assert operator.windows().num_rows == operator.messages().num_rows == 0

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"time": "-1 s"}, r"`time` \(-1 s\) is negative"),
            ({"count": 0}, r"`count` \(0\) must be at least 1\. Leave it out for no limit"),
            ({"time": 60}, "says no unit"),
        ],
    )
    def test_of_less_than_nothing_is_refused(self, options: Any, message: str) -> None:
        with pytest.raises(fl.SpecError, match=message):
            fl.retention(**options)
