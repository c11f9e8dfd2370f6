"""Executions: ask for one, start it, let its output grow, end it, cancel it."""

from __future__ import annotations

import dataclasses
import re
from datetime import datetime

from nomos.actions.consent import may_start, withdraw
from nomos.actions.judging import verdict_of
from nomos.actions.snapshots import settle_behind, take_before
from nomos.clock import Moment
from nomos.domain.approvals import ApprovalKind, scopes_for
from nomos.domain.digests import command_digest
from nomos.domain.drift import drift
from nomos.domain.executions import ENDED, LONGEST_INPUT, UNDER_WAY, Execution, Risk, State
from nomos.domain.hosts import Host
from nomos.domain.quiet import asks_for_secret
from nomos.domain.telling import STOPPED_CALL
from nomos.domain.undo import Snapshots, step_undo
from nomos.domain.windows import gate
from nomos.errors import Conflict, InvalidInput, TooLarge
from nomos.store import approvals, executions, hosts, inputs, messages, plans, sessions, windows
from nomos.store.engine import Store
from nomos.store.executions import ExecutionClaim
from nomos.store.sessions import Claim
from nomos.store.transaction import Tx


def request(
    store: Store,
    claim: Claim,
    message_id: str,
    block_id: str,
    moment: Moment,
    *,
    host: str,
    command: str,
    reason: str,
    asynchronous: bool,
    snapshots: Snapshots = Snapshots.OFF,
) -> Execution:
    """Store the execution that a tool call asks for: queued if it may run at once, else waiting with its approval.

    Asked again for the same block (a turn resumed after a crash) it returns the one that is there.

    :raises ClaimLost: another worker has the turn. :raises InvalidInput: there is no such host.
    :raises Conflict: the operator pressed Stop.
    """
    verdict = verdict_of(command, host)
    with store.write(moment.now) as tx:
        sessions.check(tx, claim)
        block = messages.get_block(tx.c, block_id)
        if block.execution_id is not None:
            return executions.get(tx.c, block.execution_id)
        if sessions.work(tx.c, claim.session_id).stop_requested:
            raise Conflict(STOPPED_CALL)
        if re.search("[\x00\ud800-\udfff]", command):
            raise InvalidInput("The command holds a NUL or half a character, which no card can show. Nothing was run.")
        place = hosts.by_name(tx.c, host)
        if place is None:
            known = ", ".join(other.name for other in hosts.every(tx.c)) or "none"
            raise InvalidInput(f"There is no host called {host}. Known hosts: {known}. Nothing was run.", field="host")
        window = windows.latest(tx.c, claim.session_id)
        plan = None if window is None or window.plan_id is None else plans.get(tx.c, window.plan_id)
        identity = place.identity
        opened = gate(
            risk=verdict.asks_as, host=host, identity=identity.digest, command=command, window=window, plan=plan,
            moment=moment,
        )  # fmt: skip
        execution = Execution(
            id=executions.new_id(),
            session_id=claim.session_id,
            message_id=message_id,
            block_id=block_id,
            host=host,
            command=command,
            reason=reason,
            risk=verdict.asks_as,
            risk_why=verdict.why,
            state=State.QUEUED if opened.runs else State.WAITING,
            digest=command_digest(
                claim.session_id, identity.digest, command, verdict.asks_as, plan_id=opened.plan_id, step=opened.step
            ),
            asynchronous=asynchronous,
            queued_at=tx.at if opened.runs else None,
            plan_id=opened.plan_id,
            parallel=opened.parallel,
            undo=step_undo(plan, opened.step),
        )
        if not opened.runs:
            approval = approvals.add(
                tx,
                session_id=claim.session_id,
                kind=ApprovalKind.COMMAND,
                risk=verdict.asks_as,
                risk_why=verdict.why,
                drift=drift(plan, host, command),
                snapshots=snapshots,
                title=f"Run on {host}",
                reason=reason,
                digest=execution.digest,
                bound=(identity,),
                scopes=scopes_for(ApprovalKind.COMMAND, verdict.asks_as),
                execution_id=execution.id,
                command=command,
                host=host,
            )
            execution = dataclasses.replace(execution, approval_id=approval.id)
        under_window = window is not None and opened.runs and verdict.asks_as.rank > 0
        executions.add(tx, execution, window_id=window.id if window is not None and under_window else None)
        if under_window:
            windows.change(tx, window, expires_at=window.expires_at)  # type: ignore[arg-type, union-attr]
        messages.change_block(tx, block_id, execution_id=execution.id)
        wanted = snapshots is Snapshots.ALWAYS or (plan is not None and opened.plan_id is not None and plan.snapshots)
        if opened.runs and wanted:
            take_before(tx, execution)
        return executions.get(tx.c, execution.id)


def claim_next(store: Store, owner: str, moment: Moment, lease: float) -> tuple[ExecutionClaim, Execution] | None:
    """Take the next execution that needs a worker."""
    with store.write(moment.now) as tx:
        return executions.claim_next(tx, owner, moment, lease)


def _take(tx: Tx, claim: ExecutionClaim) -> Execution:
    """Lock session and execution, always in this order: two that took them the other way round would block each other.

    :raises ClaimLost: another worker has it.
    """
    sessions.lock(tx, executions.get(tx.c, claim.execution_id).session_id)
    return executions.check(tx, claim)


def begin(
    store: Store, claim: ExecutionClaim, boot: str, moment: Moment, *, guard: str | None = None,
    guard_seconds: int | None = None,
) -> Host | None:  # fmt: skip
    """Note that the job is about to be sent, and which boot the host was in: from here on it may have been started.

    Once more before a start that the host never saw: hours may lie between.

    :param guard: what the host is made to run by itself after :param guard_seconds: unless Nomos signs in again.

    :returns: the host as it was checked against what was allowed, to send the job to. None: it is not what was
        allowed, or not allowed any more; the execution is withdrawn, and its session is due.
    :raises ClaimLost: another worker has it.
    """
    with store.read() as connection:
        asked = executions.get(connection, claim.execution_id)
    verdict = verdict_of(asked.command, asked.host)
    with store.write(moment.now) as tx:
        execution = _take(tx, claim)
        host, why = may_start(tx, execution, verdict, moment)
        if host is None:
            settle_behind(tx, withdraw(tx, execution, why))
            executions.release(tx, claim)
            sessions.make_due(tx, execution.session_id)
        elif execution.state is State.QUEUED:
            executions.change(
                tx, claim.execution_id, state=State.STARTING, host_boot=boot, guard_revert=guard,
                guard_seconds=guard_seconds,
            )  # fmt: skip
        return host


def running(store: Store, claim: ExecutionClaim, now: datetime) -> Execution:
    """The host says that the job runs.

    :raises ClaimLost: another worker has it.
    """
    with store.write(now) as tx:
        _take(tx, claim)
        return executions.change(tx, claim.execution_id, state=State.RUNNING, started_at=now, detail=None)


def note(store: Store, claim: ExecutionClaim, detail: str | None, now: datetime) -> None:
    """Say on the card what is known beside the state ("connection lost, asking again in 8 s")."""
    with store.write(now) as tx:
        if _take(tx, claim).detail != detail:
            executions.change(tx, claim.execution_id, detail=detail)


def note_question(store: Store, claim: ExecutionClaim, question: str, now: datetime) -> None:
    """Nothing more comes, and the last line looks like a question: say so on the card, and to the agent."""
    with store.write(now) as tx:
        execution = _take(tx, claim)
        if execution.question == question:
            return
        executions.change(tx, claim.execution_id, question=question, question_told=False)
        sessions.make_due(tx, execution.session_id)


def answer(store: Store, execution_id: str, text: str, now: datetime, *, by: str) -> Execution:
    """Store a line of the operator's for a running command; the worker hands it to the job.

    :raises NotFound: there is no such execution. :raises Conflict: it does not run, or it takes no input.
    :raises TooLarge: the line is longer than a job can be handed at once.
    """
    if len(text.encode("utf-8", "surrogateescape")) > LONGEST_INPUT:
        raise TooLarge(f"A line of input can have at most {LONGEST_INPUT} bytes. Nothing was sent.")
    with store.write(now) as tx:
        sessions.lock(tx, executions.get(tx.c, execution_id).session_id)
        execution = executions.get(tx.c, execution_id)
        if execution.state is not State.RUNNING:
            raise Conflict(f"It does not run now: it is {execution.state}. Nothing was sent to it.")
        if execution.risk is Risk.READ:
            raise Conflict("A command that only reads is run without input. Nothing was sent to it.")
        inputs.add(tx, execution_id, text, by=by, secret=asks_for_secret(execution.question or ""))
        return executions.change(tx, execution_id, question=None, question_told=False)


def take_input(store: Store, claim: ExecutionClaim, now: datetime) -> str | None:
    """The next line to hand to the job, marked as sent before it is: a line is rather lost than typed twice."""
    with store.write(now) as tx:
        _take(tx, claim)
        return inputs.take(tx, claim.execution_id)


def finish(
    store: Store,
    claim: ExecutionClaim,
    state: State,
    now: datetime,
    *,
    exit_code: int | None = None,
    detail: str | None = None,
    truncated: bool = False,
) -> Execution:
    """The execution has ended; its session is due.

    :raises ClaimLost: another worker has it.
    """
    with store.write(now) as tx:
        before = _take(tx, claim)
        execution = executions.change(
            tx,
            claim.execution_id,
            state=state,
            ended_at=now,
            exit_code=exit_code,
            detail=detail,
            truncated=truncated or before.truncated,
        )
        executions.release(tx, claim)
        if not settle_behind(tx, execution):
            sessions.make_due(tx, execution.session_id)
        return executions.get(tx.c, execution.id)


def put_off(store: Store, claim: ExecutionClaim, moment: Moment, wait: float, detail: str) -> None:
    """Give the execution back for ``wait`` seconds: the host cannot be asked now."""
    with store.write(moment.now) as tx:
        _take(tx, claim)
        executions.change(tx, claim.execution_id, detail=detail)
        executions.release(tx, claim, until=moment.ticks + wait)


def cancel(store: Store, execution_id: str, now: datetime, *, by: str) -> Execution:
    """Ask for an execution's end. It becomes ``cancelled`` once the host has confirmed it.

    :raises NotFound: there is none. :raises Conflict: it is not under way.
    """
    with store.write(now) as tx:
        execution = executions.get(tx.c, execution_id)
        sessions.lock(tx, execution.session_id)
        execution = executions.get(tx.c, execution_id)
        if execution.state is State.WAITING:
            raise Conflict("It waits for your decision and has not started: deny it instead. Nothing was changed.")
        if execution.state in ENDED:
            raise Conflict(f"It has already ended: {execution.state}. Nothing was changed.")
        return request_cancellation(tx, execution, by)


def request_cancellation(tx: Tx, execution: Execution, by: str) -> Execution:
    """The same, as a part of a larger change. What no worker has taken yet ends at once."""
    if execution.state not in UNDER_WAY or execution.cancel_requested_at is not None:
        return execution
    if execution.state is State.QUEUED and not executions.claimed(tx.c, execution.id):
        ended = executions.change(
            tx, execution.id, state=State.CANCELLED, cancel_requested_at=tx.at, ended_at=tx.at,
            detail=f"cancelled by {by} before it was started",
        )  # fmt: skip
        settle_behind(tx, ended)
        sessions.make_due(tx, execution.session_id)
        return ended
    return executions.change(tx, execution.id, cancel_requested_at=tx.at, detail=f"stopping, asked by {by}")
