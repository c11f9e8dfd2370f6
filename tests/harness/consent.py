"""Acts around a yes, on a scene: so that a test of the consent lock reads as a story."""

from __future__ import annotations

import dataclasses
from typing import Any

from nomos.domain.approvals import Approval, ApprovalKind, scopes_for
from nomos.domain.digests import command_digest
from nomos.domain.executions import Execution, Risk, State
from nomos.domain.hosts import Host
from nomos.domain.messages import Message, Role
from nomos.store import approvals, executions, hosts
from tests.harness.scene import HOST, Scene, call, reply, text


def ask(scene: Scene, command: str) -> Approval:
    """The agent asks about one command, and its turn ends."""
    scene.say("please")
    turn = scene.must_turn()
    block, execution = scene.run(turn, command)
    assert execution.state is State.WAITING
    scene.answer(turn, block, execution)
    scene.accept(turn, reply(text("May I?")))
    scene.end(turn)
    return scene.pending()[-1]


def ask_plan(scene: Scene, *commands: str) -> Approval:
    """The agent proposes a plan, and its turn ends."""
    scene.say("please")
    turn = scene.must_turn()
    scene.propose(turn, *commands)
    scene.accept(turn, reply(text("Shall I?")))
    scene.end(turn)
    return scene.pending()[-1]


def ask_as(scene: Scene, command: str, risk: Risk) -> Approval:
    """A question that was asked when the rules called the command ``risk``."""
    scene.say("please")
    turn = scene.must_turn()
    (block,) = scene.accept(turn, reply(call(host=HOST, command=command, reason="because")))
    with scene.store.write(scene.clock.now()) as tx:
        identity = host(scene).identity
        execution = Execution(
            id=executions.new_id(), session_id=scene.session_id, message_id=turn.message.id, block_id=block.id,
            host=HOST, command=command, reason="because", risk=risk, risk_why="", state=State.WAITING, queued_at=None,
            digest=command_digest(scene.session_id, identity.digest, command, risk), asynchronous=False,
        )  # fmt: skip
        approval = approvals.add(
            tx, session_id=scene.session_id, kind=ApprovalKind.COMMAND, risk=risk, title="", reason="because",
            digest=execution.digest, bound=(identity,), scopes=scopes_for(ApprovalKind.COMMAND, risk),
            execution_id=execution.id, command=command, host=HOST,
        )  # fmt: skip
        executions.add(tx, dataclasses.replace(execution, approval_id=approval.id))
    scene.end(turn)
    return approval


def host(scene: Scene) -> Host:
    """The scene's host as it is now."""
    with scene.store.read() as connection:
        found = hosts.by_name(connection, HOST)
    assert found is not None
    return found


def change_host(scene: Scene, **values: Any) -> None:
    """Somebody changes the host's entry in the inventory."""
    with scene.store.write(scene.clock.now()) as tx:
        hosts.change(tx, host(scene).id, **values)


def execution_of(scene: Scene, approval: Approval) -> Execution:
    """The execution that an approval is about, as it is now."""
    assert approval.execution_id is not None
    with scene.store.read() as connection:
        return executions.get(connection, approval.execution_id)


def events(scene: Scene, code: str) -> list[Message]:
    """The event messages of one code."""
    found = scene.snapshot().messages
    return [m for m in found if m.role is Role.EVENT and m.blocks[0].code == code]
