"""Sessions: the intervals of a key's records, joined where they overlap, and cut where a limit says so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from fanlight.model.reason import Reason
from fanlight.model.semantics import LateBy, LateSessions
from fanlight.model.spec import WindowSpec
from fanlight.model.windows.session import Session
from fanlight.model.windows.window import Window
from fanlight.testing.oracle.firing import Entry, OraclePane
from fanlight.testing.oracle.intake import Panes, TakenIn, by_key, entry_of
from fanlight.testing.oracle.reach import Reach, closed, expired, too_far_back
from fanlight.testing.oracle.time import ArrivedRecord
from fanlight.testing.oracle.triggers import TriggerNode, merge
from fanlight.testing.script import Key, Record


@dataclass(slots=True)
class Cluster:
    """Live sessions and records whose intervals hang together, and the interval they cover."""

    start: int
    end: int
    live: list[OraclePane] = field(default_factory=list)
    new: list[ArrivedRecord] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Piece:
    """A session: the panes it contains whole, and its other records."""

    window: Window
    whole: list[OraclePane]
    others: list[Entry]


class OracleSessions:
    """Every session of a key that has not finished is one of its panes; a session whose bounds change is a new pane."""

    def __init__(self, spec: WindowSpec, kind: Session, panes: Panes) -> None:
        self.spec = spec
        self.kind = kind
        self.panes = panes

    def take_in(self, arrivals: Sequence[ArrivedRecord], before: Reach) -> TakenIn:
        intake = TakenIn()
        for key, came in by_key(arrivals):
            ours = [pane for place, pane in self.panes.items() if place[0] == key]
            live = [pane for pane in ours if not pane.trigger.finished]
            finished = [pane for pane in ours if pane.trigger.finished]
            accepted = self._judge(came, live, finished, intake)
            intake.accepted += len(accepted)
            fates = [intake.dead.get(arrival.number) for arrival in came]
            intake.missed_windows += fates.count(Reason.EXPIRED) + fates.count(Reason.FINISHED)
            for cluster in self._clusters(live, accepted):
                if cluster.new:
                    self._form_anew(key, cluster, before, intake)
        return intake

    # ── judging ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _judge(
        self, came: list[ArrivedRecord], live: list[OraclePane], finished: list[OraclePane], intake: TakenIn
    ) -> list[ArrivedRecord]:
        """The records that are accepted; why the others are not goes to `intake`."""
        left = []
        for arrival in came:
            gap = self._gap(arrival.record)
            if gap is None:
                intake.dead[arrival.number] = Reason.NO_WINDOW
            elif any(self._meet(arrival.time, arrival.time + gap, pane.window) for pane in finished):
                intake.dead[arrival.number] = Reason.FINISHED
            else:
                left.append(arrival)
        accepted = []
        for cluster in self._clusters(live, left):
            for arrival in cluster.new:
                if self._too_late(arrival, cluster):
                    intake.dead[arrival.number] = Reason.EXPIRED
                else:
                    accepted.append(arrival)
        return sorted(accepted, key=lambda arrival: arrival.number)

    def _too_late(self, arrival: ArrivedRecord, cluster: Cluster) -> bool:
        """Whether the session that the semantics judge has expired."""
        if self.spec.semantics.late_by is LateBy.RECORD:
            return too_far_back(self.spec, arrival.time, arrival.reach)
        if self.spec.semantics.late_sessions is LateSessions.OWN:
            own = Window(arrival.time, arrival.time + self._require_gap(arrival.record))
            return expired(self.spec, own, arrival.reach)
        return expired(self.spec, Window(cluster.start, cluster.end), arrival.reach)

    def _gap(self, record: Record) -> int | None:
        """The record's own gap; None where it brings no interval."""
        if self.kind.gap is not None:
            return self.kind.gap.micros
        assert self.kind.gap_from is not None
        gap: int | None = record[self.kind.gap_from]
        return gap if gap is not None and gap > 0 else None

    def _require_gap(self, record: Record) -> int:
        gap = self._gap(record)
        assert gap is not None
        return gap

    def _meet(self, start: int, end: int, window: Window) -> bool:
        if self.kind.touching:
            return start <= window.end and window.start <= end
        return start < window.end and window.start < end

    # ── forming ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _clusters(self, live: list[OraclePane], new: list[ArrivedRecord]) -> list[Cluster]:
        """Live sessions and records, joined where their intervals overlap, or with `touching` also where they meet."""
        alone = [Cluster(pane.window.start, self._silence_after(pane), live=[pane]) for pane in live]
        alone += [
            Cluster(arrival.time, arrival.time + self._require_gap(arrival.record), new=[arrival]) for arrival in new
        ]
        clusters: list[Cluster] = []
        for one in sorted(alone, key=lambda cluster: cluster.start):
            if clusters and self._meet(one.start, one.end, Window(clusters[-1].start, clusters[-1].end)):
                last = clusters[-1]
                last.end = max(last.end, one.end)
                last.live += one.live
                last.new += one.new
            else:
                clusters.append(one)
        return clusters

    def _silence_after(self, pane: OraclePane) -> int:
        """Where a live session would end if only silence ended it: a limit may have cut it before that."""
        if not self.kind.has_limits:
            return pane.window.end
        return self._natural_end(pane.entries)

    def _natural_end(self, entries: list[Entry]) -> int:
        return max(entry.time + self._require_gap(entry.record) for entry in entries)

    def _form_anew(self, key: Key, cluster: Cluster, before: Reach, intake: TakenIn) -> None:
        """Put the sessions of the cluster in the place of those that were live, where their bounds have changed."""
        whole = Window(cluster.start, cluster.end)
        new = [entry_of(self.spec, arrival, whole, before) for arrival in cluster.new]
        pieces = self._pieces(cluster, new) if self.kind.has_limits else [Piece(whole, cluster.live, new)]
        windows = [piece.window for piece in pieces]
        for pane in cluster.live:
            if pane.window not in windows:
                del self.panes[key, pane.window]
                intake.replaced.append(pane)
        for piece in pieces:
            is_open = not closed(self.spec, piece.window, before)
            others = [replace(entry, came_before_close=is_open) for entry in piece.others]
            place = (key, piece.window)
            pane = self.panes.get(place) or self._takes_over(key, piece, before)
            self.panes[place] = pane
            if others:
                pane.join(others)
                intake.told[place] = others

    def _takes_over(self, key: Key, piece: Piece, before: Reach) -> OraclePane:
        """A new pane with the content, the pending records and the trigger state of those it contains whole."""
        is_closed = closed(self.spec, piece.window, before)
        triggers = [pane.trigger for pane in piece.whole]
        trigger = merge(triggers, closed=is_closed) if triggers else TriggerNode.of(self.spec.trigger)
        taking = OraclePane(key, piece.window, trigger)
        for pane in piece.whole:
            taking.join(
                [replace(e, came_before_close=e.came_before_close or not is_closed) for e in pane.entries],
                pending=[replace(e, came_before_close=e.came_before_close or not is_closed) for e in pane.pending],
            )
        return taking

    # ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _pieces(self, cluster: Cluster, new: list[Entry]) -> list[Piece]:
        """The cluster's records in order of time, cut first to last.

        A session to which nothing came, but that a moved cut made, is told of every record it holds.
        """
        entries = [entry for pane in cluster.live for entry in pane.entries] + new
        runs, was_ended = self._cut(entries)
        pieces = []
        for place, run in enumerate(runs):
            is_cut = place < len(runs) - 1 or was_ended
            end = run[-1].time + self.spec.tick.micros if is_cut else self._natural_end(run)
            window = Window(run[0].time, end)
            inside = {entry.number for entry in run}
            whole = [pane for pane in cluster.live if all(entry.number in inside for entry in pane.entries)]
            known = {entry.number for pane in whole for entry in pane.entries}
            others = [entry for entry in run if entry.number not in known]
            goes_on = any(pane.window == window for pane in whole)
            hands_on = goes_on or any(entry in new for entry in run)
            pieces.append(Piece(window, whole, others) if hands_on else Piece(window, [], run))
        return pieces

    def _cut(self, entries: list[Entry]) -> tuple[list[list[Entry]], bool]:
        """Runs of records, and whether a limit ended the last of them; records of one time stay together."""
        runs: list[list[Entry]] = []
        ended = True
        for time in sorted({entry.time for entry in entries}):
            together = [entry for entry in entries if entry.time == time]
            too_long = not ended and self._is_too_long(time - runs[-1][0].time)
            if ended or too_long:
                runs.append([])
            runs[-1] += together
            ended = self._ends_on(together) or self._is_full(runs[-1])
        return runs, ended

    def _is_too_long(self, duration: int) -> bool:
        return self.kind.max_duration is not None and duration >= self.kind.max_duration.micros

    def _is_full(self, run: list[Entry]) -> bool:
        return self.kind.max_count is not None and len(run) >= self.kind.max_count

    def _ends_on(self, entries: list[Entry]) -> bool:
        column = self.kind.ends_on
        return column is not None and any(entry.record[column] is True for entry in entries)
