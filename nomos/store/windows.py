"""Assent windows: the newest of a session is the one that counts."""

from __future__ import annotations

import dataclasses
import uuid
from datetime import datetime

from sqlalchemy import Connection, func, select, update

from nomos.domain.events import Type
from nomos.domain.executions import Risk
from nomos.domain.windows import Scope, Window
from nomos.store import executions
from nomos.store.rows import windows
from nomos.store.transaction import AnyRow, Tx


def _value(row: AnyRow) -> Window:
    return Window(
        id=row.id,
        session_id=row.session_id,
        opened_at=row.opened_at,
        expires_at=row.expires_at,
        opened_by=row.opened_by,
        scope=Scope(row.scope),
        hosts=tuple(row.hosts),
        risk=Risk(row.risk),
        cover_until=row.cover_until,
        plan_id=row.plan_id,
        revoked_at=row.revoked_at,
        continuations=row.continuations,
    )


def latest(c: Connection, session_id: str) -> Window | None:
    """The session's window, open or not, with what has been used under it."""
    statement = select(windows).where(windows.c.session_id == session_id)
    row = c.execute(statement.order_by(windows.c.number.desc()).limit(1)).one_or_none()
    if row is None:
        return None
    return dataclasses.replace(_value(row), used=executions.under_window(c, row.id))


def open_new(
    tx: Tx, session_id: str, *, expires_at: datetime, by: str, scope: Scope, hosts: tuple[str, ...], risk: Risk,
    cover_until: datetime | None, plan_id: str | None,
) -> Window:  # fmt: skip
    """Open a window; it takes the place of the one before."""
    last = select(func.coalesce(func.max(windows.c.number), 0)).where(windows.c.session_id == session_id)
    tx.c.execute(
        windows.insert().values(
            id=str(uuid.uuid4()),
            session_id=session_id,
            opened_at=tx.at,
            expires_at=expires_at,
            opened_by=by,
            scope=scope,
            hosts=list(hosts),
            risk=risk,
            cover_until=cover_until,
            plan_id=plan_id,
            number=tx.c.execute(last).scalar_one() + 1,
        )
    )
    tx.touch(Type.WINDOW_CHANGED, session_id)
    window = latest(tx.c, session_id)
    assert window is not None
    return window


def change(tx: Tx, window: Window, **values: object) -> None:
    """Set columns of a window and note the change."""
    tx.c.execute(update(windows).where(windows.c.id == window.id).values(**values))
    tx.touch(Type.WINDOW_CHANGED, window.session_id)
