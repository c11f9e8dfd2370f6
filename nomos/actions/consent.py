"""What a yes still means: whether what was shown and allowed is what would run now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nomos.actions.judging import verdict_of
from nomos.clock import Moment
from nomos.domain.approvals import Approval, ApprovalState, scopes_for
from nomos.domain.digests import command_digest
from nomos.domain.executions import Execution, Risk, State
from nomos.domain.hosts import Host
from nomos.domain.plans import PlanState, plan_digest
from nomos.domain.undo import helped_guest, snapshot_name
from nomos.domain.windows import Gate, gate
from nomos.risk import Verdict
from nomos.store import approvals, executions, hosts, plans, related, sessions, windows
from nomos.store.engine import Store
from nomos.store.transaction import Tx

Judged = Mapping[tuple[str, str], Verdict]  # what today's rules say, by host and command
CHANGED = "changed since it was shown"


def judge(store: Store, approval_ids: tuple[str, ...]) -> Judged:
    """Class the commands that are asked about anew. Before the transaction: the second reader is a program.

    :raises NotFound: there is no such approval.
    """
    with store.read() as connection:
        asked = [approvals.get(connection, approval_id) for approval_id in approval_ids]
        commands = [(a.host, a.command) for a in asked if a.command is not None and a.host is not None]
        for approval in asked:
            if approval.plan_id is not None:
                commands += [(step.host, step.command) for step in plans.get(connection, approval.plan_id).steps]
    return {(host, command): verdict_of(command, host) for host, command in commands}


def changes(tx: Tx, approval: Approval, judged: Judged) -> tuple[str, ...]:
    """What is not as it was shown any more, in words; nothing where the answer is to what was shown."""
    words: list[str] = []
    for identity in approval.bound:
        host = hosts.by_name(tx.c, identity.name)
        words += (
            (f"{identity.name} is no longer in the inventory",) if host is None else identity.changes(host.identity)
        )
    for host_name, command, shown in _asked(tx, approval):
        verdict = judged.get((host_name, command))
        if verdict is None:
            words.append("what is asked was edited meanwhile")
        elif verdict.asks_as.rank > shown.rank:
            words.append(f"today's rules call {command} {verdict.asks_as} and not {shown}: {verdict.why}")
    if not words and _stored_digest(tx, approval) != approval.digest:
        words.append("what is stored is not what was asked about")
    return tuple(words)


def _asked(tx: Tx, approval: Approval) -> list[tuple[str, str, Risk]]:
    if approval.plan_id is not None:
        return [(step.host, step.command, step.risk) for step in plans.get(tx.c, approval.plan_id).steps]
    if approval.execution_id is None:
        return []
    execution = executions.get(tx.c, approval.execution_id)
    return [(execution.host, execution.command, execution.risk)]


def _stored_digest(tx: Tx, approval: Approval) -> str | None:
    """The digest of what is stored, for the hosts as they were shown."""
    identities = {identity.name: identity.digest for identity in approval.bound}
    if approval.plan_id is not None:
        return plan_digest(plans.get(tx.c, approval.plan_id), identities)
    if approval.execution_id is None:
        return None
    execution = executions.get(tx.c, approval.execution_id)
    if execution.digest != approval.digest:
        return None
    return command_digest(
        execution.session_id, identities.get(execution.host, ""), execution.command, execution.risk
    )  # fmt: skip


def ask_again(tx: Tx, approval: Approval, words: tuple[str, ...], judged: Judged) -> Approval | None:
    """Withdraw a question and ask it anew about what there is now. None where its host is gone: nobody can be asked."""
    changed = "; ".join(words)
    approvals.settle(
        tx, approval, ApprovalState.WITHDRAWN, by="nomos", route=None, scope=None, note=f"{CHANGED}: {changed}",
        tells=False,
    )  # fmt: skip
    known = {identity.name: hosts.by_name(tx.c, identity.name) for identity in approval.bound}
    there = {name: host.identity for name, host in known.items() if host is not None}
    gone = len(there) < len(known)
    if approval.plan_id is not None:
        if gone:
            plans.set_state(tx, approval.plan_id, PlanState.WITHDRAWN)
            return None
        plan = plans.get(tx.c, approval.plan_id)
        steps = []
        for step in plan.steps:
            verdict = judged.get((step.host, step.command)) or verdict_of(step.command, step.host)
            stricter = verdict.asks_as.rank > step.risk.rank
            steps.append(replace(step, risk=verdict.asks_as, risk_why=verdict.why) if stricter else step)
        plan = replace(plan, steps=tuple(steps))
        plans.set_steps(tx, plan)
        return approvals.add(
            tx, session_id=plan.session_id, kind=approval.kind, risk=plan.risk, risk_why=plan.risk_why,
            title=approval.title, reason=approval.reason,
            digest=plan_digest(plan, {name: identity.digest for name, identity in there.items()}),
            bound=tuple(there.values()), changed=changed, scopes=scopes_for(approval.kind, plan.risk),
            plan_id=plan.id, snapshots=approval.snapshots,
        )  # fmt: skip
    assert approval.execution_id is not None
    execution = executions.get(tx.c, approval.execution_id)
    if gone:
        withdraw(tx, execution, changed)
        sessions.make_due(tx, execution.session_id)
        return None
    verdict = judged.get((execution.host, execution.command)) or verdict_of(execution.command, execution.host)
    stricter = verdict.asks_as.rank > execution.risk.rank
    risk, why = (verdict.asks_as, verdict.why) if stricter else (execution.risk, execution.risk_why)
    digest = command_digest(execution.session_id, there[execution.host].digest, execution.command, risk)
    fresh = approvals.add(
        tx, session_id=execution.session_id, kind=approval.kind, risk=risk, risk_why=why, title=approval.title,
        reason=approval.reason, digest=digest, bound=tuple(there.values()), changed=changed,
        scopes=scopes_for(approval.kind, risk), execution_id=execution.id, command=execution.command,
        host=execution.host, drift=approval.drift, snapshots=approval.snapshots,
    )  # fmt: skip
    executions.change(tx, execution.id, risk=risk, risk_why=why, digest=digest, approval_id=fresh.id)
    return fresh


def may_start(tx: Tx, execution: Execution, verdict: Verdict, moment: Moment) -> tuple[Host | None, str]:
    """Whether a command that was allowed may be started now, checked in the transaction that starts it.

    Its digest must be that of what would run: the host as it is now, the exact bytes, the step of the plan. Today's
    rules must not call it worse than was allowed. Its own approval is used up by this; what runs under a window needs
    the window still, whoever asked.

    :param verdict: what today's rules say. :returns: the host to start it on, or None and why not.
    """
    host = hosts.by_name(tx.c, execution.host)
    if host is None:
        return None, f"{execution.host} is no longer in the inventory"
    if verdict.asks_as.rank > execution.risk.rank:
        return None, f"today's rules call it {verdict.asks_as} and not {execution.risk}: {verdict.why}"
    plan = None if execution.plan_id is None else plans.get(tx.c, execution.plan_id)
    step = None if plan is None else plan.number_of(execution.host, execution.command)
    now = command_digest(
        execution.session_id, host.identity.digest, execution.command, execution.risk, plan_id=execution.plan_id,
        step=step,
    )  # fmt: skip
    if now != execution.digest:
        return None, f"{_what_differs(tx, execution, host)} since it was allowed"
    ground = related.behind(tx.c, execution.id)
    if ground is not None:
        # A snapshot rests on what allows the step behind it, without using that up.
        why = _snapshot_stands(tx, execution, ground, host, moment)
        return (host, "") if why is None else (None, why)
    if execution.approval_id is not None:
        if not approvals.use(tx, execution.id, execution.approval_id, now):
            return None, "its approval does not stand for what would run"
    else:
        opened = _opened(tx, execution, host, moment)
        if not opened.runs:
            return None, opened.ground
    return host, ""


def _snapshot_stands(tx: Tx, snapshot: Execution, step: Execution, host: Host, moment: Moment) -> str | None:
    """Why this snapshot is not covered by what allows the step that it is taken before; None where it is."""
    guest = helped_guest(step.command)
    if guest is None or step.host != host.name or snapshot.command != guest.snapshot(snapshot_name(step.id)):
        return "it is not the snapshot of the step behind it"
    if step.state is not State.QUEUED:
        return f"the step behind it is {step.state}"
    if step.approval_id is not None:
        approval = approvals.get(tx.c, step.approval_id)
        stands = approval.state is ApprovalState.APPROVED and approval.digest == step.digest
        return None if stands else "the approval of the step behind it does not stand"
    opened = _opened(tx, step, host, moment)
    return None if opened.runs else opened.ground


def _opened(tx: Tx, execution: Execution, host: Host, moment: Moment) -> Gate:
    """What the session's window says of it now."""
    window = windows.latest(tx.c, execution.session_id)
    covered = None if window is None or window.plan_id is None else plans.get(tx.c, window.plan_id)
    return gate(
        risk=execution.risk, host=host.name, identity=host.identity.digest, command=execution.command, window=window,
        plan=covered, moment=moment,
    )  # fmt: skip


def _what_differs(tx: Tx, execution: Execution, host: Host) -> str:
    bound = () if execution.approval_id is None else approvals.get(tx.c, execution.approval_id).bound
    words = [each for identity in bound if identity.name == host.name for each in identity.changes(host.identity)]
    return "; ".join(words) or f"{host.name}, or what was to run on it, is not the same"


def withdraw(tx: Tx, execution: Execution, why: str) -> Execution:
    """End an execution that was never started. The agent is told, and may ask anew."""
    return executions.change(
        tx, execution.id, state=State.WITHDRAWN, ended_at=tx.at, detail=f"Nothing was run: {why}"
    )  # fmt: skip
