"""Approvals."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, func, select, update

from nomos.domain.approvals import Approval, ApprovalKind, ApprovalState, Route
from nomos.domain.drift import Drift
from nomos.domain.events import Type
from nomos.domain.executions import Risk
from nomos.domain.windows import Scope
from nomos.errors import Conflict, NotFound
from nomos.store.rows import approvals
from nomos.store.transaction import AnyRow, Tx


def _value(row: AnyRow) -> Approval:
    return Approval(
        id=row.id,
        session_id=row.session_id,
        state=ApprovalState(row.state),
        kind=ApprovalKind(row.kind),
        risk=Risk(row.risk),
        title=row.title,
        reason=row.reason,
        digest=row.digest,
        scopes=tuple(Scope(scope) for scope in row.scopes),
        requested_at=row.requested_at,
        execution_id=row.execution_id,
        plan_id=row.plan_id,
        command=row.command,
        host=row.host,
        decided_at=row.decided_at,
        decided_by=row.decided_by,
        route=None if row.route is None else Route(row.route),
        scope=None if row.scope is None else Scope(row.scope),
        note=row.note,
        risk_why=row.risk_why,
        drift=None if row.drift is None else Drift(**row.drift),
    )


def add(
    tx: Tx,
    *,
    session_id: str,
    kind: ApprovalKind,
    risk: Risk,
    title: str,
    reason: str,
    digest: str,
    scopes: Sequence[Scope],
    execution_id: str | None = None,
    plan_id: str | None = None,
    command: str | None = None,
    host: str | None = None,
    risk_why: str = "",
    drift: Drift | None = None,
) -> Approval:
    """Ask the operator."""
    approval_id = str(uuid.uuid4())
    last = select(func.coalesce(func.max(approvals.c.number), 0)).where(approvals.c.session_id == session_id)
    tx.c.execute(
        approvals.insert().values(
            id=approval_id,
            session_id=session_id,
            state=ApprovalState.PENDING,
            kind=kind,
            execution_id=execution_id,
            plan_id=plan_id,
            risk=risk,
            title=title,
            command=command,
            host=host,
            reason=reason,
            digest=digest,
            scopes=[str(scope) for scope in scopes],
            requested_at=tx.at,
            risk_why=risk_why,
            drift=None if drift is None else asdict(drift),
            number=tx.c.execute(last).scalar_one() + 1,
        )
    )
    tx.touch(Type.APPROVAL_CHANGED, approval_id)
    tx.touch_session(session_id)
    return get(tx.c, approval_id)


def get(c: Connection, approval_id: str) -> Approval:
    """:raises NotFound: there is none."""
    row = c.execute(select(approvals).where(approvals.c.id == approval_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such approval. Nothing was decided.")
    return _value(row)


def of_session(c: Connection, session_id: str, state: ApprovalState | None = None) -> tuple[Approval, ...]:
    """The approvals of a session, oldest question first."""
    statement = select(approvals).where(approvals.c.session_id == session_id)
    if state is not None:
        statement = statement.where(approvals.c.state == state)
    return tuple(_value(row) for row in c.execute(statement.order_by(approvals.c.number)))


def every(c: Connection, state: ApprovalState | None = None, limit: int = 200) -> tuple[Approval, ...]:
    """The approvals of all sessions, oldest question first if pending, else newest first."""
    statement = select(approvals).limit(limit)
    if state is not None:
        statement = statement.where(approvals.c.state == state)
    order = approvals.c.requested_at if state is ApprovalState.PENDING else approvals.c.requested_at.desc()
    return tuple(_value(row) for row in c.execute(statement.order_by(order)))


def settle(
    tx: Tx, approval: Approval, state: ApprovalState, *, by: str, route: Route | None, scope: Scope | None,
    note: str | None, tells: bool,
) -> Approval:  # fmt: skip
    """Write the decision down. ``tells``: the agent has to hear of it in an event of its own.

    :raises Conflict: it is not pending any more.
    """
    settled = tx.c.execute(
        update(approvals)
        .where(approvals.c.id == approval.id, approvals.c.state == ApprovalState.PENDING)
        .values(state=state, decided_at=tx.at, decided_by=by, route=route, scope=scope, note=note, tells=tells)
    )
    if settled.rowcount != 1:
        raise Conflict("This was decided meanwhile. Nothing was changed.")
    tx.touch(Type.APPROVAL_CHANGED, approval.id)
    tx.touch_session(approval.session_id)
    return get(tx.c, approval.id)


def edit(
    tx: Tx, approval: Approval, *, command: str | None, risk: Risk, risk_why: str, digest: str,
    scopes: Sequence[Scope], drift: Drift | None,
) -> Approval:  # fmt: skip
    """Ask about something else from now on: the operator edited it.

    :raises Conflict: it is not pending any more.
    """
    edited = tx.c.execute(
        update(approvals)
        .where(approvals.c.id == approval.id, approvals.c.state == ApprovalState.PENDING)
        .values(
            command=command, risk=risk, risk_why=risk_why, digest=digest, scopes=[str(scope) for scope in scopes],
            drift=None if drift is None else asdict(drift),
        )
    )  # fmt: skip
    if edited.rowcount != 1:
        raise Conflict("This was decided meanwhile. Nothing was changed.")
    tx.touch(Type.APPROVAL_CHANGED, approval.id)
    tx.touch_session(approval.session_id)
    return get(tx.c, approval.id)


def untold(c: Connection, session_id: str) -> tuple[Approval, ...]:
    """Decisions that the agent has to hear of and has not."""
    statement = select(approvals).where(
        approvals.c.session_id == session_id, approvals.c.tells.is_(True), approvals.c.told_at.is_(None)
    )
    return tuple(_value(row) for row in c.execute(statement.order_by(approvals.c.decided_at, approvals.c.number)))


def mark_told(tx: Tx, approval_id: str) -> None:
    """The agent has been told."""
    tx.c.execute(update(approvals).where(approvals.c.id == approval_id).values(told_at=tx.at))
