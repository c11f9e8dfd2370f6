"""The operator edits what is asked about: it is classified again and gets a new digest, so that the old one is void."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime

from nomos.actions.judging import verdict_of
from nomos.domain.approvals import Approval, ApprovalKind, ApprovalState, already, scopes_for
from nomos.domain.digests import command_digest
from nomos.domain.drift import edited
from nomos.domain.plans import plan_digest
from nomos.errors import DigestMismatch, InvalidInput, NotFound, Withdrawn
from nomos.store import approvals, executions, plans, sessions
from nomos.store.engine import Store
from nomos.store.transaction import Tx


def edit_command(store: Store, approval_id: str, command: str, digest: str, now: datetime) -> Approval:
    """Put another command in the place of the one that waits. The same command again changes nothing.

    The new digest binds the hosts as they were shown: if they are not the same any more, the decision says so.

    :param digest: what the operator was shown. :raises NotFound: there is no such approval of a command.
    :raises AlreadyDecided, Withdrawn: it is not asked any more. :raises DigestMismatch: something else was shown.
    :raises InvalidInput: no card can show the command.
    """
    _shown(command)
    with store.read() as connection:
        host = approvals.get(connection, approval_id).host or ""
    verdict = verdict_of(command, host)
    with store.write(now) as tx:
        approval = _pending(tx, approval_id)
        if approval.execution_id is None or approval.host is None:
            raise NotFound("This asks about a plan: edit one of its steps. Nothing was changed.")
        before = executions.get(tx.c, approval.execution_id)
        if before.command == command:
            return approval
        _check(approval, digest)
        proposed = before.command if before.asked is None else before.asked
        (identity,) = approval.bound
        after = command_digest(approval.session_id, identity.digest, command, verdict.asks_as)
        executions.change(
            tx, before.id, command=command, risk=verdict.asks_as, risk_why=verdict.why, digest=after,
            asked=None if command == proposed else proposed,
        )  # fmt: skip
        return approvals.edit(
            tx, approval, command=command, risk=verdict.asks_as, risk_why=verdict.why, digest=after,
            scopes=scopes_for(ApprovalKind.COMMAND, verdict.asks_as), drift=edited(approval.drift, command),
        )  # fmt: skip


def edit_step(store: Store, approval_id: str, number: int, command: str, digest: str, now: datetime) -> Approval:
    """Put another command in the place of a step's (numbered from 0). The errors are those of ``edit_command``.

    :raises NotFound: there is no such plan or step.
    """
    _shown(command)
    with store.read() as connection:
        plan_id = approvals.get(connection, approval_id).plan_id
        shown = () if plan_id is None else plans.get(connection, plan_id).steps
    verdict = verdict_of(command, shown[number].host if number < len(shown) else "")
    with store.write(now) as tx:
        approval = _pending(tx, approval_id)
        plan = None if approval.plan_id is None else plans.get(tx.c, approval.plan_id)
        if plan is None or number >= len(plan.steps):
            raise NotFound("There is no such step of a plan. Nothing was changed.")
        if plan.steps[number].command == command:
            return approval
        _check(approval, digest)
        steps = list(plan.steps)
        steps[number] = steps[number].edit(command, verdict.asks_as, verdict.why)
        plan = replace(plan, steps=tuple(steps))
        plans.set_steps(tx, plan)
        identities = {identity.name: identity.digest for identity in approval.bound}
        return approvals.edit(
            tx, approval, command=None, risk=plan.risk, risk_why=plan.risk_why, digest=plan_digest(plan, identities),
            scopes=scopes_for(ApprovalKind.PLAN, plan.risk), drift=None,
        )  # fmt: skip


def _shown(command: str) -> str:
    if not command.strip():
        raise InvalidInput("command: it is empty. Deny it instead. Nothing was changed.", field="command")
    if re.search("[\x00\ud800-\udfff]", command):
        raise InvalidInput(
            "command: it holds a NUL or half a character, which no card can show. Nothing was changed.", field="command"
        )
    return command


def _pending(tx: Tx, approval_id: str) -> Approval:
    sessions.lock(tx, approvals.get(tx.c, approval_id).session_id)
    approval = approvals.get(tx.c, approval_id)
    if approval.state is ApprovalState.WITHDRAWN:
        raise Withdrawn
    if approval.state is not ApprovalState.PENDING:
        raise already(approval)
    return approval


def _check(approval: Approval, digest: str) -> None:
    if approval.digest != digest:
        raise DigestMismatch
