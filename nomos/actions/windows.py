"""Assent windows: extend, reopen, revoke. Only an operator does any of it."""

from __future__ import annotations

from datetime import datetime, timedelta

from nomos.actions.approvals import revoke_in
from nomos.domain.executions import Risk
from nomos.domain.sessions import Ending
from nomos.domain.windows import Scope, Window
from nomos.store import sessions, windows
from nomos.store.engine import Store


def extend(store: Store, session_id: str, minutes: int, now: datetime, *, by: str) -> Window:
    """Let the window end ``minutes`` from now, never earlier than it would have; reopen it if it is over.

    It covers what it covered, and its continuations are counted anew. A session that never had one gets one that grants
    nothing but going on.
    """
    with store.write(now) as tx:
        sessions.lock(tx, session_id)
        before = windows.latest(tx.c, session_id)
        expires_at = now + timedelta(minutes=minutes)
        if before is not None and before.is_open(now):
            later = max(before.expires_at, expires_at)
            covers = before.cover_until is not None and before.risk is not Risk.READ
            windows.change(
                tx, before, expires_at=later, cover_until=later if covers else before.cover_until, continuations=0
            )
        else:
            covers = before is not None and before.risk is not Risk.READ
            windows.open_new(
                tx,
                session_id,
                expires_at=expires_at,
                by=by,
                scope=before.scope if before is not None else Scope.ONCE,
                hosts=before.hosts if before is not None else (),
                risk=before.risk if before is not None else Risk.READ,
                cover_until=expires_at if covers else now,
                plan_id=before.plan_id if before is not None else None,
            )
        sessions.change(tx, session_id, last_word_at=now, updated_at=now)
        if sessions.work(tx.c, session_id).ending is Ending.PARKED:
            sessions.change(tx, session_id, ending=Ending.NONE)
        sessions.make_due(tx, session_id)
        window = windows.latest(tx.c, session_id)
        assert window is not None
        return window


def revoke(store: Store, session_id: str, now: datetime) -> Window | None:
    """Close the window at once. What runs goes on; nothing new runs unasked."""
    with store.write(now) as tx:
        sessions.lock(tx, session_id)
        revoke_in(tx, session_id)
        return windows.latest(tx.c, session_id)
