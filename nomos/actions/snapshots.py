"""Snapshots of Proxmox guests, taken before a step changes them. Each is an execution of its own, with its own card.

It is covered by what allows the step behind it, which does not start before the snapshot has succeeded.
"""

from __future__ import annotations

from nomos.actions.consent import withdraw
from nomos.actions.undo import place, propose
from nomos.domain import telling
from nomos.domain.digests import command_digest
from nomos.domain.executions import ENDED, Execution, Risk, State
from nomos.domain.undo import cannot_snapshot, helped_guest, snapshot_name
from nomos.store import executions, hosts, output, related, sessions
from nomos.store.transaction import Tx

_RULE = "it takes a snapshot and changes nothing else"
_LOOKED_AT = 4000  # bytes of a snapshot's output


def take_before(tx: Tx, execution: Execution) -> None:
    """Queue a snapshot before a queued execution, where one can help. Of a plan, one for each guest is enough."""
    guest = helped_guest(execution.command)
    host = hosts.by_name(tx.c, execution.host)
    if guest is None or host is None or execution.risk is Risk.READ:
        return
    if execution.plan_id is not None:
        for other in related.with_snapshots(tx.c, execution.plan_id):
            taken = executions.get(tx.c, other.after_id or "")
            same = other.host == execution.host and helped_guest(other.command) == guest
            if same and (taken.state is State.SUCCEEDED or taken.state not in ENDED):
                return
    name = snapshot_name(execution.id)
    command = guest.snapshot(name)
    snapshot = place(
        tx, execution.session_id, text=telling.snapshot_first(execution, command), code="snapshot_first",
        host=host.name, command=command, reason=f"A way back from {execution.command}", risk=Risk.CHANGE, rule=_RULE,
        digest=command_digest(execution.session_id, host.identity.digest, command, Risk.CHANGE), state=State.QUEUED,
    )  # fmt: skip
    undo = execution.undo or guest.rollback(name)
    executions.change(tx, execution.id, after_id=snapshot.id, undo=undo, detail="waits for the snapshot before it")


def settle_behind(tx: Tx, snapshot: Execution) -> bool:
    """What becomes of the step behind a snapshot that has ended. False: this execution is no snapshot.

    The step starts by itself where it succeeded; where it failed nothing is run. Where the storage has no snapshots
    the operator is asked about the same command without one.
    """
    step = related.behind(tx.c, snapshot.id)
    if step is None:
        return False
    if snapshot.state is State.SUCCEEDED:
        executions.change(tx, snapshot.id, continued_at=tx.at)  # the agent hears of the step that follows
        if step.state is State.QUEUED:
            executions.change(tx, step.id, detail=None)
        return True
    if step.state is State.QUEUED:
        said = cannot_snapshot(output.tail(tx.c, snapshot, _LOOKED_AT).text)
        withdraw(tx, step, f"the snapshot before it {snapshot.state}{f' ({said})' if said else ''}")
        if said is not None and hosts.by_name(tx.c, step.host) is not None:
            propose(
                tx, step.session_id, step.host, step.command, step.risk, step.risk_why,
                text=telling.no_snapshot(step, said), code="no_snapshot",
                reason=f"No snapshot can be taken first ({said}). {step.reason}",
            )  # fmt: skip
    sessions.make_due(tx, snapshot.session_id)
    return True
