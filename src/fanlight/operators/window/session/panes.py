"""Choose how the panes of sessions are stored: by what ends a session, and by how often it fires."""

from __future__ import annotations

from functools import partial

from fanlight.model.windows.session import Session
from fanlight.operators.accounting import Books
from fanlight.operators.window.admission import Lateness
from fanlight.operators.window.messages import Messages
from fanlight.operators.window.panes import Panes
from fanlight.operators.window.plan import Plan
from fanlight.operators.window.session.limited import Kept, LimitedSessions
from fanlight.operators.window.session.multi_firing import MergingSessions
from fanlight.operators.window.session.open_sessions import bucket_width
from fanlight.operators.window.session.single_firing import SessionsOnce
from fanlight.operators.window.unaligned.panes import UnalignedPanes
from fanlight.state.store import ChunkStore


def session_panes(
    kind: Session, plan: Plan, store: ChunkStore, _messages: Messages | None, lateness: Lateness, books: Books
) -> Panes:
    """The pane store of sessions."""
    width = bucket_width(kind)
    if kind.has_limits:
        limited = partial(LimitedSessions, kind=kind)
        return UnalignedPanes(plan, store, lateness, books, limited, width=width, kept=Kept.kind(plan))
    if plan.spec.fires_once and not plan.spec.keeps_panes:
        return SessionsOnce(plan, kind, store, lateness, books)
    return UnalignedPanes(plan, store, lateness, books, partial(MergingSessions, kind=kind), width=width)
