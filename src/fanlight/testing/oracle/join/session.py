"""Joins by session, read slowly from the law: the rows of both sides that have not left make the sessions of a key."""

from __future__ import annotations

from typing import Any

from fanlight.model.reason import Reason
from fanlight.model.windows.window import Window
from fanlight.testing.oracle.join.sides import JoinRow, same_key
from fanlight.testing.oracle.join.window import WindowJoinOracle
from fanlight.testing.script import Record


class SessionJoinOracle(WindowJoinOracle):
    """One run of a join by session, in one shard; `step` takes it further."""

    @property
    def gap(self) -> int:
        """How long a silence ends a session."""
        kind = self.spec.match.session
        assert kind is not None
        assert kind.gap is not None
        return kind.gap.micros

    def _late(self, time: int, watermark: int) -> Reason | None:
        return Reason.EXPIRED if time + self.gap <= watermark else None

    def _leaving(self) -> list[Record]:
        found: list[Record] = []
        over = [one for one in self._sessions() if one[0].end <= self._complete()]
        windows = sorted({window for window, _ in over}, key=lambda window: (window.end, window.start))
        for window in windows:  # sessions of several keys may have the same bounds
            rows = [row for own, held in over if own == window for row in held]
            for row in rows:
                row.is_done = True
            lefts, rights = (
                sorted((row for row in rows if row in side.rows), key=lambda row: row.order)
                for side in (self.left, self.right)
            )
            found += self._whole(window, lefts, rights)
        return found

    def _sessions(self) -> list[tuple[Window, list[JoinRow]]]:
        """The sessions of all rows that have not left."""
        rows = [
            (self._key(row, left=side is self.left), row)
            for side in (self.left, self.right)
            for row in side.rows
            if not row.is_done
        ]
        found: list[tuple[Window, Any, list[JoinRow]]] = []
        for key, row in sorted(rows, key=lambda one: one[1].time):
            own = Window(row.time, row.time + self.gap)
            place = next((at for at, session in enumerate(found) if self._is_of(session, key, row.time)), None)
            if place is None:
                found.append((own, key, [row]))
            else:
                window, _, held = found[place]
                found[place] = Window(window.start, own.end), key, [*held, row]
        return [(window, held) for window, _, held in found]

    def _is_of(self, session: tuple[Window, Any, list[JoinRow]], key: tuple[Any, ...], time: int) -> bool:
        window, its_key, _ = session
        kind = self.spec.match.session
        assert kind is not None
        reaches = time <= window.end if kind.touching else time < window.end
        return reaches and all(same_key(one, other) for one, other in zip(its_key, key, strict=True))

    def _key(self, row: JoinRow, *, left: bool) -> tuple[Any, ...]:
        side = self.spec.left if left else self.spec.right
        return tuple(row.record[name] for name in side.keys)
