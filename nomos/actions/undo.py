"""Ways back: commands that Nomos itself puts before the operator. None of them runs without an approval."""

from __future__ import annotations

from datetime import datetime

from nomos.actions.judging import verdict_of
from nomos.domain import telling
from nomos.domain.approvals import ApprovalKind, scopes_for
from nomos.domain.digests import command_digest
from nomos.domain.executions import Execution, Risk, State
from nomos.domain.messages import BlockKind, Origin, Role
from nomos.domain.undo import is_open, undo_of
from nomos.errors import Conflict
from nomos.store import approvals, executions, hosts, messages, related, sessions
from nomos.store.engine import Store
from nomos.store.transaction import Tx


def propose_undo(store: Store, execution_id: str, now: datetime, *, by: str) -> Execution:
    """Ask the operator about the command that undoes an execution: an ordinary question, classified anew.

    :param by: who wants it. :raises NotFound: there is no such execution. :raises Conflict: nothing that undoes it is
        known, or it is asked about or done already.
    """
    with store.read() as connection:
        undone = executions.get(connection, execution_id)
    command = undo_of(undone)
    verdict = None if command is None else verdict_of(command, undone.host)
    with store.write(now) as tx:
        sessions.lock(tx, executions.get(tx.c, execution_id).session_id)
        execution = executions.get(tx.c, execution_id)
        if command is None or verdict is None or undo_of(execution) != command:
            raise Conflict("Nothing that undoes it is known. Nothing was changed.")
        for other in related.that_undo(tx.c, execution_id):
            if is_open(other.state):
                raise Conflict(f"Its undoing is there already: it is {other.state}. Nothing was changed.")
        text = telling.undo_asked(execution, command)
        return propose(
            tx, execution.session_id, execution.host, command, verdict.asks_as, verdict.why, text=text,
            code="undo_asked", reason=f"Undo {execution.command} (asked by {by})", undoes=execution_id,
        )  # fmt: skip


def propose(
    tx: Tx, session_id: str, host_name: str, command: str, risk: Risk, rule: str, *, text: str, code: str, reason: str,
    undoes: str | None = None,
) -> Execution:  # fmt: skip
    """Store an event message with a command of its own, and the question about it.

    :raises Conflict: the host is no longer in the inventory.
    """
    host = hosts.by_name(tx.c, host_name)
    if host is None:
        raise Conflict(f"{host_name} is no longer in the inventory. Nothing was asked.")
    execution = place(
        tx, session_id, text=text, code=code, host=host_name, command=command, reason=reason, risk=risk, rule=rule,
        digest=command_digest(session_id, host.identity.digest, command, risk), state=State.WAITING, undoes=undoes,
    )  # fmt: skip
    approval = approvals.add(
        tx, session_id=session_id, kind=ApprovalKind.COMMAND, risk=risk, risk_why=rule, title=f"Run on {host_name}",
        reason=reason, digest=execution.digest, bound=(host.identity,), scopes=scopes_for(ApprovalKind.COMMAND, risk),
        execution_id=execution.id, command=command, host=host_name,
    )  # fmt: skip
    return executions.change(tx, execution.id, approval_id=approval.id)


def place(
    tx: Tx, session_id: str, *, text: str, code: str, host: str, command: str, reason: str, risk: Risk, rule: str,
    digest: str, state: State, undoes: str | None = None, plan_id: str | None = None,
) -> Execution:  # fmt: skip
    """Store an execution that no call of the agent stands for: its card stands in an event message of its own."""
    message = messages.add(tx, session_id, Role.EVENT, Origin.DECISION, text=text, code=code)
    block = messages.add_block(
        tx, message.id, BlockKind.TOOL_CALL, name="run", input_={"host": host, "command": command}, quiet=True
    )
    execution = Execution(
        id=executions.new_id(), session_id=session_id, message_id=message.id, block_id=block.id, host=host,
        command=command, reason=reason, risk=risk, risk_why=rule, state=state, digest=digest, asynchronous=True,
        queued_at=tx.at if state is State.QUEUED else None, undoes=undoes, plan_id=plan_id,
    )  # fmt: skip
    executions.add(tx, execution)
    messages.change_block(tx, block.id, execution_id=execution.id)
    return executions.get(tx.c, execution.id)
