"""Plans: propose one."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from nomos.actions.judging import verdict_of
from nomos.domain.approvals import ApprovalKind, ApprovalState, scopes_for
from nomos.domain.hosts import Identity
from nomos.domain.plans import Plan, PlanState, Step, plan_digest
from nomos.domain.undo import Snapshots, helped_guest
from nomos.errors import InvalidInput
from nomos.store import approvals, hosts, messages, plans, sessions
from nomos.store.engine import Store
from nomos.store.sessions import Claim
from nomos.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Draft:
    """A step as the agent wrote it. Its risk is Nomos's to say, so there is none here."""

    host: str
    command: str
    why: str
    undo: str | None = None
    parallel: bool = False


def propose(
    store: Store, claim: Claim, message_id: str, block_id: str, now: datetime, *, goal: str, verify: str,
    drafts: Sequence[Draft], snapshots: Snapshots = Snapshots.OFF,
) -> Plan:  # fmt: skip
    """Store a plan and ask the operator about it; an older open question about a plan is withdrawn.

    :raises ClaimLost: another worker has the turn. :raises InvalidInput: a step names an unknown host.
    """
    verdicts = [verdict_of(draft.command, draft.host) for draft in drafts]
    with store.write(now) as tx:
        sessions.check(tx, claim)
        if not drafts:
            raise InvalidInput("The plan has no steps. Nothing was asked.")
        identities: dict[str, Identity] = {}
        for draft in drafts:
            place = hosts.by_name(tx.c, draft.host)
            if place is not None:
                identities[place.name] = place.identity
            else:
                known = ", ".join(host.name for host in hosts.every(tx.c)) or "none"
                raise InvalidInput(f"There is no host called {draft.host}. Known hosts: {known}. Nothing was asked.")
        _withdraw_open(tx, claim.session_id)
        plan = Plan(
            id=str(uuid.uuid4()),
            session_id=claim.session_id,
            message_id=message_id,
            block_id=block_id,
            goal=goal,
            verify=verify,
            steps=tuple(
                Step(d.host, d.command, verdict.asks_as, d.why, d.undo, d.parallel, verdict.why)
                for d, verdict in zip(drafts, verdicts, strict=True)
            ),
            state=PlanState.PROPOSED,
            created_at=now,
        )
        plans.add(tx, plan)
        approvals.add(
            tx,
            session_id=claim.session_id,
            kind=ApprovalKind.PLAN,
            risk=plan.risk,
            risk_why=plan.risk_why,
            title=goal,
            reason=verify,
            digest=plan_digest(plan, {name: identity.digest for name, identity in identities.items()}),
            bound=tuple(identities.values()),
            scopes=scopes_for(ApprovalKind.PLAN, plan.risk),
            plan_id=plan.id,
            snapshots=snapshots if any(helped_guest(step.command) for step in plan.steps) else Snapshots.OFF,
        )
        messages.change_block(tx, block_id, result=f"plan {plan.id} waits for approval", is_error=False)
        return plan


def _withdraw_open(tx: Tx, session_id: str) -> None:
    for approval in approvals.of_session(tx.c, session_id, ApprovalState.PENDING):
        if approval.plan_id is not None:
            approvals.settle(
                tx, approval, ApprovalState.WITHDRAWN, by="nomos", route=None, scope=None,
                note="a newer plan took its place", tells=False,
            )  # fmt: skip
            plans.set_state(tx, approval.plan_id, PlanState.WITHDRAWN)
