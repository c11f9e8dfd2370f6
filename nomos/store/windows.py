"""Assent windows: the newest of a session is the one that counts; those before it have ended."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy import Connection, func, select, union_all, update

from nomos.domain import deeds
from nomos.domain.audit import Deed
from nomos.domain.events import Type
from nomos.domain.executions import Risk
from nomos.domain.windows import Ended, Scope, Window
from nomos.store import executions
from nomos.store.rows import journal, windows, workers
from nomos.store.transaction import AnyRow, Tx

_LATELY = 200  # entries of the journal that are looked at for the latest time: those of a clock set back come last


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
        bound=row.bound,
        plan_bound=row.plan_bound,
        expires_ticks=row.expires_ticks,
        boot=row.boot,
        ended_at=row.ended_at,
        ended_why=None if row.ended_why is None else Ended(row.ended_why),
        continuations=row.continuations,
    )


def latest(c: Connection, session_id: str) -> Window | None:
    """The session's window, open or not, with what has been used under it."""
    statement = select(windows).where(windows.c.session_id == session_id)
    row = c.execute(statement.order_by(windows.c.number.desc()).limit(1)).one_or_none()
    if row is None:
        return None
    return dataclasses.replace(_value(row), used=executions.under_window(c, row.id))


def not_ended(c: Connection) -> tuple[Window, ...]:
    """The windows of all sessions whose end has not been noted."""
    return tuple(_value(row) for row in c.execute(select(windows).where(windows.c.ended_at.is_(None))))


def latest_noted(c: Connection) -> datetime:
    """The latest wall time that Nomos has noted lately: in the journal, or with a worker's sign of life."""
    lately = select(journal.c.at).order_by(journal.c.seq.desc()).limit(_LATELY).subquery()
    noted = union_all(select(func.max(lately.c.at).label("at")), select(func.max(workers.c.seen_at).label("at")))
    times = [row.at for row in c.execute(noted) if row.at is not None]
    return max(times, default=datetime.min.replace(tzinfo=UTC))


def open_new(
    tx: Tx, session_id: str, *, expires_at: datetime, expires_ticks: float, boot: str, by: str, scope: Scope,
    hosts: tuple[str, ...], risk: Risk, cover_until: datetime | None, plan_id: str | None, bound: Mapping[str, str],
    plan_bound: Mapping[str, str],
) -> Window:  # fmt: skip
    """Open a window; it takes the place of the one before, which has ended."""
    last = select(func.coalesce(func.max(windows.c.number), 0)).where(windows.c.session_id == session_id)
    tx.c.execute(
        windows.insert().values(
            id=str(uuid.uuid4()),
            session_id=session_id,
            opened_at=tx.at,
            expires_at=expires_at,
            expires_ticks=expires_ticks,
            boot=boot,
            opened_by=by,
            scope=scope,
            hosts=list(hosts),
            risk=risk,
            cover_until=cover_until,
            plan_id=plan_id,
            bound=dict(bound),
            plan_bound=dict(plan_bound),
            number=tx.c.execute(last).scalar_one() + 1,
        )
    )
    tx.touch(Type.WINDOW_CHANGED, session_id)
    window = latest(tx.c, session_id)
    assert window is not None
    tx.audit(Deed.WINDOW_OPENED, deeds.window(window), session_id=session_id)
    return window


def change(tx: Tx, window: Window, **values: object) -> None:
    """Set columns of a window and note the change."""
    tx.c.execute(update(windows).where(windows.c.id == window.id).values(**values))
    tx.touch(Type.WINDOW_CHANGED, window.session_id)
    after = _one(tx.c, window.id)
    if after.expires_at != window.expires_at:
        tx.audit(Deed.WINDOW_EXTENDED, deeds.window(after), session_id=window.session_id)


def end(tx: Tx, window: Window, why: Ended) -> bool:
    """Note that a window has ended. False: somebody noted it before."""
    ended = tx.c.execute(
        update(windows)
        .where(windows.c.id == window.id, windows.c.ended_at.is_(None))
        .values(ended_at=tx.at, ended_why=why)
    )
    if ended.rowcount != 1:
        return False
    tx.touch(Type.WINDOW_CHANGED, window.session_id)
    deed = Deed.WINDOW_REVOKED if why is Ended.REVOKED else Deed.WINDOW_ENDED
    tx.audit(deed, deeds.window(_one(tx.c, window.id)), session_id=window.session_id)
    return True


def _one(c: Connection, window_id: str) -> Window:
    return _value(c.execute(select(windows).where(windows.c.id == window_id)).one())
