"""A step that fails changes nothing, and the operator goes on."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa
import pytest

import fanlight as fl

from .orders import BY_HAND, TOTALS, WINDOWED, S, counts, order, said


class Fragile(fl.UserAggregate):
    """A sum that breaks in the method it is told to break in."""

    state_type = pa.int64()
    output_type = pa.int64()
    breaks: ClassVar[str] = ""
    how: ClassVar[type[BaseException]] = ZeroDivisionError

    def zero(self) -> int:
        return 0

    def add(self, state: int, value: int) -> int:
        return self._unless("add", state + value)

    def merge(self, left: int, right: int) -> int:
        return self._unless("merge", left + right)

    def finish(self, state: int) -> int:
        return self._unless("finish", state)

    def _unless(self, method: str, result: int) -> int:
        if self.breaks == method:
            raise self.how
        return result


class TestAStepThatFails:
    """It changes nothing: counts, watermark, windows, dead letters, firings and positions are as before."""

    PIPELINE = WINDOWED.agg(n=fl.count(), total=fl.sum("v"), own=Fragile("v"))

    def everything(self, operator: fl.WindowOperator) -> list[Any]:
        tables = [operator.windows(), operator.dead_letters, operator.results()]
        return [counts(operator), operator.watermark, *(table.to_pylist() for table in tables)]

    def busy(self) -> fl.WindowOperator:
        """An operator with something of everything: open and closed windows, a dead letter, a firing."""
        operator = self.PIPELINE.operator(strict=True)
        operator.add([order(1, v=2**62), order(None), order(12)], offset=0, watermark=10 * S)
        return operator

    def goes_on(self, operator: fl.WindowOperator) -> None:
        """What failed can be sent again from the same position, corrected, and is no duplicate."""
        operator.add([order(2), order(None)], offset=3, watermark=20 * S)
        assert counts(operator) == (5, 3, 0, 2)
        assert said(operator.take()) == [
            ("tea", 0, "ON_TIME", 1),
            ("tea", 0, "LATE", 2),
            ("tea", 10, "ON_TIME", 1),
        ]

    BAD: ClassVar[dict[str, Any]] = {
        "a user's state beyond int64": ([order(2, v=2**62), order(None), order(13)], "Fragile: `merge` .* not fit"),
        "text in a column of numbers": (pa.table({"ts": [2], "k": ["a"], "v": ["x"]}), "'v' is string here and was"),
        "a fraction in a column of integers": (pa.table({"ts": [2], "k": ["a"], "v": [2.5]}), "'v' is double here and"),
        "a column that is missing": (pa.table({"ts": [2], "k": ["a"]}), "'v' is not in the input"),
        "a field that is new": ([{"ts": 2, "k": "a", "v": 1, "w": 1}], "field 'w'"),
    }

    @pytest.mark.parametrize("kind", BAD)
    def test_by_its_records(self, kind: str) -> None:
        operator, (records, message) = self.busy(), self.BAD[kind]
        before = self.everything(operator)
        with pytest.raises(fl.FanlightError, match=message):
            operator.add(records, offset=3, watermark=25 * S)
        assert self.everything(operator) == before
        self.goes_on(operator)

    @pytest.mark.parametrize("method", ["add", "merge", "finish"])
    def test_by_an_aggregate_of_the_user(self, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
        operator = self.busy()
        before = self.everything(operator)
        with monkeypatch.context() as broken:
            broken.setattr(Fragile, "breaks", method)
            with pytest.raises(fl.EngineError, match=f"Fragile: `{method}` on `v` raised ZeroDivisionError"):
                operator.add([order(2), order(None), order(13)], offset=3, watermark=20 * S)
        assert self.everything(operator) == before
        self.goes_on(operator)

    def test_by_being_interrupted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        operator = self.busy()
        before = self.everything(operator)
        with monkeypatch.context() as broken:
            broken.setattr(Fragile, "breaks", "add")
            broken.setattr(Fragile, "how", KeyboardInterrupt)
            with pytest.raises(KeyboardInterrupt):
                operator.add([order(2), order(None)], offset=3, watermark=20 * S)
        assert self.everything(operator) == before
        self.goes_on(operator)

    @pytest.mark.parametrize("step", ["advance", "end"])
    def test_without_records(self, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
        operator = self.busy()
        before = self.everything(operator)
        with monkeypatch.context() as broken:
            broken.setattr(Fragile, "breaks", "finish")
            with pytest.raises(fl.EngineError, match="finish"):
                operator.end() if step == "end" else operator.advance(watermark=20 * S)
        assert self.everything(operator) == before
        self.goes_on(operator)

    def test_by_a_watermark_that_cannot_be_read(self) -> None:
        operator = self.busy()
        before = self.everything(operator)
        with pytest.raises(fl.SpecError, match="'soon' is not ISO 8601"):
            operator.add([order(2)], offset=3, watermark="soon")
        assert self.everything(operator) == before
        self.goes_on(operator)

    def test_in_windows_that_fire_once(self) -> None:
        """Records lie in slices until the window closes; a bundle whose own state does not fit is refused whole."""
        operator = BY_HAND.window(fl.tumbling("10 s")).agg(n=fl.count(), total=Fragile("v")).operator()
        operator.add([order(1)], offset=0)
        before = self.everything(operator)
        with pytest.raises(fl.EngineError, match=r"Fragile: `add` .* not fit"):
            operator.add([order(2, v=2**62), order(3, v=2**62), order(None)], offset=1)
        assert self.everything(operator) == before
        operator.add([order(2)], offset=1, watermark=10 * S)
        assert operator.take().column("total").to_pylist() == [2]

    def test_the_clock_is_as_before(self) -> None:
        operator = self.PIPELINE.operator()
        operator.add([order(1)], clock=5 * S)
        with pytest.raises(fl.SpecError, match="'soon' is not ISO 8601"):
            operator.add([order(2)], clock=9 * S, watermark="soon")
        assert operator.clock == 5 * S

    def test_the_signal_is_as_before(self) -> None:
        operator = WINDOWED.trigger(fl.repeat(fl.on_signal())).agg(n=fl.count()).operator()
        operator.add([order(1)])
        with pytest.raises(fl.SpecError, match="'soon' is not ISO 8601"):
            operator.advance(signal=True, watermark="soon")
        operator.add([order(2)])
        assert operator.take().num_rows == 0

    def test_the_very_first_may_fail_too(self) -> None:
        """Nothing was known before it, so the columns may be others the next time."""
        operator = TOTALS.operator()
        with pytest.raises(fl.InputError, match="'k' is not in the input"):
            operator.add([{"ts": 1, "v": 1}])
        assert not operator.is_bound
        operator.add([order(1)])
        assert counts(operator) == (1, 1, 0, 0)

    def test_a_declared_schema_outlives_the_failure(self) -> None:
        schema = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.int64()})
        operator = fl.WindowOperator(self.PIPELINE.spec, schema=schema)
        with pytest.raises(fl.EngineError, match=r"Fragile: `add` .* not fit"):
            operator.add([order(1, v=2**62), order(2, v=2**62)])
        operator.add([order(1)])
        again = fl.WindowOperator.restore(self.PIPELINE.spec, operator.snapshot())
        assert again.windows().column("n").to_pylist() == [1]
