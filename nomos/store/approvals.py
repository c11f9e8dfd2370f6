"""Approvals."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, func, select, update

from nomos.domain import deeds
from nomos.domain.approvals import Approval, ApprovalKind, ApprovalState, Route
from nomos.domain.audit import Deed
from nomos.domain.drift import Drift
from nomos.domain.events import Type
from nomos.domain.executions import Risk
from nomos.domain.hosts import Identity
from nomos.domain.undo import Snapshots
from nomos.domain.windows import Scope
from nomos.errors import Conflict, NotFound
from nomos.store import plans
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
        bound=tuple(Identity(**identity) for identity in row.bound),
        changed=row.changed,
        used_at=row.used_at,
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
        snapshots=Snapshots.OFF if row.snapshot is None else Snapshots(row.snapshot),
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
    bound: Sequence[Identity],
    scopes: Sequence[Scope],
    changed: str | None = None,
    execution_id: str | None = None,
    plan_id: str | None = None,
    command: str | None = None,
    host: str | None = None,
    risk_why: str = "",
    drift: Drift | None = None,
    snapshots: Snapshots = Snapshots.OFF,
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
            bound=[asdict(identity) for identity in bound],
            changed=changed,
            scopes=[str(scope) for scope in scopes],
            requested_at=tx.at,
            risk_why=risk_why,
            drift=None if drift is None else asdict(drift),
            snapshot=snapshots,
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
    withdrawn = state is ApprovalState.WITHDRAWN
    return _changed(tx, approval, Deed.APPROVAL_WITHDRAWN if withdrawn else Deed.APPROVAL_DECIDED)


def _changed(tx: Tx, approval: Approval, deed: Deed) -> Approval:
    """Tell journal and audit of what it is now."""
    tx.touch(Type.APPROVAL_CHANGED, approval.id)
    tx.touch_session(approval.session_id)
    after = get(tx.c, approval.id)
    plan = None if after.plan_id is None else plans.get(tx.c, after.plan_id)
    tx.audit(deed, deeds.approval(after, plan), session_id=after.session_id)
    return after


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
    return _changed(tx, approval, Deed.APPROVAL_EDITED)


def untold(c: Connection, session_id: str) -> tuple[Approval, ...]:
    """Decisions that the agent has to hear of and has not."""
    statement = select(approvals).where(
        approvals.c.session_id == session_id, approvals.c.tells.is_(True), approvals.c.told_at.is_(None)
    )
    return tuple(_value(row) for row in c.execute(statement.order_by(approvals.c.decided_at, approvals.c.number)))


def use(tx: Tx, execution_id: str, approval_id: str, digest: str) -> bool:
    """Use up an approval for the one command that it allows, if it is bound to this very digest.

    False: it was not approved, or for something else. A start that the host never saw may be made again.
    """
    used = tx.c.execute(
        update(approvals)
        .where(
            approvals.c.id == approval_id,
            approvals.c.execution_id == execution_id,
            approvals.c.state == ApprovalState.APPROVED,
            approvals.c.digest == digest,
        )
        .values(used_at=func.coalesce(approvals.c.used_at, tx.at))
    )
    if used.rowcount != 1:
        return False
    tx.touch(Type.APPROVAL_CHANGED, approval_id)
    return True


def mark_told(tx: Tx, approval_id: str) -> None:
    """The agent has been told."""
    tx.c.execute(update(approvals).where(approvals.c.id == approval_id).values(told_at=tx.at))
