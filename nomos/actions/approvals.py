"""Approvals: the one function that decides, whatever the route, and the window that it opens."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from nomos.actions.consent import Judged, ask_again, changes, judge
from nomos.actions.snapshots import take_before
from nomos.actions.windows import open_in, revoke_in
from nomos.clock import Moment
from nomos.domain.approvals import Approval, ApprovalState, Route, Verdict, already, decide
from nomos.domain.executions import State
from nomos.domain.plans import Plan, PlanState
from nomos.domain.sessions import Ending
from nomos.domain.undo import Snapshots
from nomos.domain.windows import Ended, Scope
from nomos.errors import DigestMismatch, InvalidInput
from nomos.store import approvals, executions, plans, sessions
from nomos.store.engine import Store
from nomos.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an answer. ``changed``: it was not taken, because that is not as it was shown any more."""

    approval: Approval
    changed: str | None = None


def settle(
    store: Store,
    approval_id: str,
    verdict: Verdict,
    moment: Moment,
    *,
    by: str,
    route: Route,
    digest: str | None,
    scope: Scope | None = None,
    note: str | None = None,
    minutes: int,
    steps: Collection[int] | None = None,
    snapshot: bool = False,
) -> Approval:
    """Decide an approval from a button, a notification or the API.

    What changed since it was shown is not approved: the question is withdrawn, and asked anew about what there is now.

    :param snapshot: take one of each Proxmox guest first that is changed; only where the question offers it.
    :param steps: of a plan, the numbers (from 0) of those that are approved; None approves all.
    :param minutes: how long the assent window stays open. The errors are those of ``domain.approvals.decide``.
    """
    judged = judge(store, (approval_id,)) if verdict is Verdict.APPROVE else {}
    with store.write(moment.now) as tx:
        outcome = settle_in(
            tx, approval_id, verdict, moment, judged, by=by, route=route, digest=digest, scope=scope, note=note,
            minutes=minutes, steps=steps, snapshot=snapshot,
        )  # fmt: skip
    if outcome.changed is not None:  # only now: what was asked anew has to be stored
        raise DigestMismatch(f"It changed since it was shown: {outcome.changed}. Nothing ran. Look at the card again.")
    return outcome.approval


def settle_in(
    tx: Tx,
    approval_id: str,
    verdict: Verdict,
    moment: Moment,
    judged: Judged,
    *,
    by: str,
    route: Route,
    digest: str | None,
    scope: Scope | None,
    note: str | None,
    minutes: int,
    steps: Collection[int] | None = None,
    snapshot: bool = False,
) -> Outcome:
    """The same, as a part of a larger change (an operator's chat message that reads as an answer).

    :param judged: what today's rules say of what is asked.
    """
    session_id = approvals.get(tx.c, approval_id).session_id
    sessions.lock(tx, session_id)
    approval = approvals.get(tx.c, approval_id)
    settled = decide(approval, verdict, scope, digest)
    plan = None if approval.plan_id is None else plans.get(tx.c, approval.plan_id)
    _check_choice(approval, plan, verdict, steps, repeat=settled.repeat)
    if settled.repeat:
        return Outcome(approval)
    approved = verdict is Verdict.APPROVE
    if approved and (words := changes(tx, approval, judged)):
        ask_again(tx, approval, words, judged)
        return Outcome(approvals.get(tx.c, approval.id), "; ".join(words))
    if snapshot and approval.snapshots is Snapshots.OFF:
        raise InvalidInput("snapshot: none is offered here. Nothing was decided.", field="snapshot")
    if approved:
        snapshot = snapshot or approval.snapshots is Snapshots.ALWAYS
        if plan is not None:
            _allow_plan(tx, plan.approve(steps), snapshot=snapshot)
        window = open_in(tx, approval, settled.scope or Scope.ONCE, moment, by=by, minutes=minutes)
        if approval.execution_id is not None:
            _allow_command(tx, approval.execution_id, window.id, snapshot=snapshot)
    else:
        _deny(tx, approval)
        revoke_in(tx, session_id, moment, Ended.DENIED)
    sessions.change(tx, session_id, last_word_at=tx.at, updated_at=tx.at, ending=Ending.NONE)
    sessions.make_due(tx, session_id)
    decided = approvals.settle(
        tx,
        approval,
        ApprovalState.APPROVED if approved else ApprovalState.DENIED,
        by=by,
        route=route,
        scope=settled.scope,
        note=note,
        # An approved command tells its own end; all else the agent can only hear from the decision.
        tells=plan is not None or not approved,
    )
    return Outcome(decided)


def _check_choice(
    approval: Approval, plan: Plan | None, verdict: Verdict, steps: Collection[int] | None, *, repeat: bool
) -> None:
    """See that steps are chosen only where there are any, and that a repeated answer chooses the same."""
    if steps is None:
        return
    if plan is None or verdict is Verdict.DENY:
        raise InvalidInput("steps: only of a plan that is approved can steps be chosen.", field="steps")
    if repeat and plan.approve(steps) != plan:
        raise already(approval)


def _allow_plan(tx: Tx, plan: Plan, *, snapshot: bool) -> None:
    plans.set_steps(tx, plan)
    if snapshot:
        plans.take_snapshots(tx, plan.id)
    plans.set_state(tx, plan.id, PlanState.APPROVED)


def _allow_command(tx: Tx, execution_id: str, window_id: str, *, snapshot: bool) -> None:
    queued = executions.change(tx, execution_id, state=State.QUEUED, queued_at=tx.at, window_id=window_id)
    if snapshot:
        take_before(tx, queued)


def _deny(tx: Tx, approval: Approval) -> None:
    if approval.execution_id is not None:
        executions.change(tx, approval.execution_id, state=State.DENIED, ended_at=tx.at)
    if approval.plan_id is not None:
        plans.set_state(tx, approval.plan_id, PlanState.DENIED)
