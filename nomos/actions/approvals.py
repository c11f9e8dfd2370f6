"""Approvals: the one function that decides, whatever the route, and the window that it opens."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from nomos.domain.approvals import Approval, ApprovalKind, ApprovalState, Route, Verdict, already, decide
from nomos.domain.executions import Risk, State
from nomos.domain.plans import PlanState
from nomos.domain.sessions import Ending
from nomos.domain.windows import Scope, Window
from nomos.errors import InvalidInput
from nomos.store import approvals, executions, plans, sessions, windows
from nomos.store.engine import Store
from nomos.store.transaction import Tx


def settle(
    store: Store,
    approval_id: str,
    verdict: Verdict,
    now: datetime,
    *,
    by: str,
    route: Route,
    digest: str | None,
    scope: Scope | None = None,
    note: str | None = None,
    minutes: int,
    steps: Collection[int] | None = None,
) -> Approval:
    """Decide an approval from a button, a notification or the API.

    :param steps: of a plan, the numbers (from 0) of those that are approved; None approves all.
    :param minutes: how long the assent window stays open. The errors are those of ``domain.approvals.decide``.
    """
    with store.write(now) as tx:
        return settle_in(
            tx, approval_id, verdict, by=by, route=route, digest=digest, scope=scope, note=note, minutes=minutes,
            steps=steps,
        )  # fmt: skip


def settle_in(
    tx: Tx,
    approval_id: str,
    verdict: Verdict,
    *,
    by: str,
    route: Route,
    digest: str | None,
    scope: Scope | None,
    note: str | None,
    minutes: int,
    steps: Collection[int] | None = None,
) -> Approval:
    """The same, as a part of a larger change (an operator's chat message that reads as an answer)."""
    session_id = approvals.get(tx.c, approval_id).session_id
    sessions.lock(tx, session_id)
    approval = approvals.get(tx.c, approval_id)
    settled = decide(approval, verdict, scope, digest)
    plan = None if approval.plan_id is None else plans.get(tx.c, approval.plan_id)
    if steps is not None and (plan is None or verdict is Verdict.DENY):
        raise InvalidInput("steps: only of a plan that is approved can steps be chosen.", field="steps")
    if settled.repeat:
        if plan is not None and steps is not None and plan.approve(steps) != plan:
            raise already(approval)
        return approval
    approved = verdict is Verdict.APPROVE
    if plan is not None and approved:
        plans.set_steps(tx, plan.approve(steps))
    is_plan = approval.kind is ApprovalKind.PLAN
    window_id: str | None = None
    if approved:
        window_id = _open_window(tx, approval, settled.scope or Scope.ONCE, by, minutes).id
    else:
        revoke_in(tx, session_id)
    if approval.execution_id is not None:
        if approved:
            executions.change(tx, approval.execution_id, state=State.QUEUED, queued_at=tx.at, window_id=window_id)
        else:
            executions.change(tx, approval.execution_id, state=State.DENIED, ended_at=tx.at)
    if approval.plan_id is not None:
        plans.set_state(tx, approval.plan_id, PlanState.APPROVED if approved else PlanState.DENIED)
    sessions.change(tx, session_id, last_word_at=tx.at, updated_at=tx.at, ending=Ending.NONE)
    sessions.make_due(tx, session_id)
    return approvals.settle(
        tx,
        approval,
        ApprovalState.APPROVED if approved else ApprovalState.DENIED,
        by=by,
        route=route,
        scope=settled.scope,
        note=note,
        # An approved command tells its own end; all else the agent can only hear from the decision.
        tells=is_plan or not approved,
    )


def _open_window(tx: Tx, approval: Approval, scope: Scope, by: str, minutes: int) -> Window:
    """Open the session's window, or prolong the open one without taking from it what it granted."""
    expires_at = tx.at + timedelta(minutes=minutes)
    before = windows.latest(tx.c, approval.session_id)
    if before is not None and not before.is_open(tx.at):
        before = None
    hosts: tuple[str, ...] = ()
    if approval.plan_id is not None:
        hosts = plans.get(tx.c, approval.plan_id).allowed_hosts
    elif approval.host is not None:
        hosts = (approval.host,)
    still_covered = before is not None and before.cover_until is not None and tx.at < before.cover_until
    old_hosts = before.hosts if before is not None and still_covered else ()
    if scope is Scope.WINDOW:
        covered, risk, until = tuple(dict.fromkeys((*old_hosts, *hosts))), Risk.CHANGE, expires_at
    elif before is not None and still_covered:
        covered, risk, until = before.hosts, before.risk, before.cover_until or tx.at
    else:
        covered, risk, until = (), Risk.READ, tx.at
    plan_id = approval.plan_id or (before.plan_id if before is not None else None)
    return windows.open_new(
        tx,
        approval.session_id,
        expires_at=expires_at,
        by=by,
        scope=scope,
        hosts=covered,
        risk=risk,
        cover_until=until,
        plan_id=plan_id,
    )


def revoke_in(tx: Tx, session_id: str) -> bool:
    """Close the session's window if it is open. True if it was."""
    window = windows.latest(tx.c, session_id)
    if window is None or not window.is_open(tx.at):
        return False
    windows.change(tx, window, revoked_at=tx.at)
    return True
