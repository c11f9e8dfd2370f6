"""Some of a plan, edited steps, and commands that depart from what was approved: on the real store."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nomos.actions import approvals, edits
from nomos.domain.approvals import Approval, ApprovalState, Route, Verdict
from nomos.domain.drift import Drift
from nomos.domain.executions import Risk, State
from nomos.domain.plans import Plan
from nomos.domain.windows import Scope
from nomos.errors import AlreadyDecided, DigestMismatch, InvalidInput, NotFound, Withdrawn
from nomos.store import approvals as approval_rows
from nomos.store import snapshots
from tests.harness.scene import DESTROY, HOST, MINUTES, Scene, reply, text

FIRST, SECOND, THIRD = "systemctl restart web", "touch /srv/flag", "mkdir /srv/new"


def propose(scene: Scene, *commands: str) -> Approval:
    """The agent proposes a plan, and its turn ends."""
    scene.say("please")
    turn = scene.must_turn()
    scene.propose(turn, *commands)
    scene.accept(turn, reply(text("Shall I?")))
    scene.end(turn)
    (approval,) = scene.pending()
    return approval


def ask(scene: Scene, command: str) -> Approval:
    """The agent asks about one command, and its turn ends."""
    scene.say("please")
    turn = scene.must_turn()
    block, execution = scene.run(turn, command)
    assert execution.state is State.WAITING
    scene.answer(turn, block, execution)
    scene.end(turn)
    (approval,) = scene.pending()
    return approval


def approve(scene: Scene, approval: Approval, *steps: int, scope: Scope = Scope.WINDOW) -> Approval:
    """The operator approves these steps by button."""
    return approvals.settle(
        scene.store, approval.id, Verdict.APPROVE, scene.clock.moment(), by="ada", route=Route.BUTTON,
        digest=approval.digest, scope=scope, minutes=MINUTES, steps=steps,
    )  # fmt: skip


def plan_of(scene: Scene) -> Plan:
    """The session's plan."""
    plan = scene.snapshot().plan
    assert plan is not None
    return plan


def told(scene: Scene, event: str) -> Any:
    """The newest event of a kind that the agent was told."""
    texts = [block.text for message in scene.snapshot().messages for block in message.blocks if block.code == event]
    return json.loads(texts[-1].partition("words: ")[2])


def test_only_the_chosen_steps_are_approved_and_the_agent_is_told_which(scene: Scene) -> None:
    approve(scene, propose(scene, FIRST, SECOND, THIRD), 0, 2)
    assert [step.approved for step in plan_of(scene).steps] == [True, False, True]
    turn = scene.must_turn()
    steps = told(scene, "plan_decided")["steps"]
    assert [(step["step"], step["approved"], step["command"]) for step in steps] == [
        (0, True, FIRST), (1, False, SECOND), (2, True, THIRD),
    ]  # fmt: skip
    ran, left_out = scene.run(turn, FIRST)[1], scene.run(turn, SECOND)[1]
    assert (ran.state, ran.plan_id, left_out.state) == (State.QUEUED, plan_of(scene).id, State.WAITING)
    (approval,) = scene.pending()
    assert approval.drift == Drift(plan_of(scene).id, 1, None, SECOND)


def test_the_window_covers_only_hosts_of_approved_steps(scene: Scene) -> None:
    approve(scene, propose(scene, FIRST, SECOND), 0)
    window = scene.snapshot().window
    assert window is not None
    assert window.hosts == (HOST,)


@pytest.mark.parametrize("steps", [(3,), ()])
def test_steps_that_are_not_there_decide_nothing(scene: Scene, steps: tuple[int, ...]) -> None:
    approval = propose(scene, FIRST, SECOND, THIRD)
    with pytest.raises(InvalidInput):
        approve(scene, approval, *steps)
    assert scene.pending() == (approval,)
    assert not any(step.approved for step in plan_of(scene).steps)


def test_of_a_command_no_steps_can_be_chosen(scene: Scene) -> None:
    with pytest.raises(InvalidInput):
        approve(scene, ask(scene, FIRST), 0)
    assert len(scene.pending()) == 1


def test_the_same_choice_again_is_fine_and_another_is_refused(scene: Scene) -> None:
    approval = propose(scene, FIRST, SECOND)
    approve(scene, approval, 0)
    assert approve(scene, approval, 0).state is ApprovalState.APPROVED
    with pytest.raises(AlreadyDecided):
        approve(scene, approval, 0, 1)
    assert [step.approved for step in plan_of(scene).steps] == [True, False]


def test_an_edited_step_is_classed_again_and_the_old_digest_is_void(scene: Scene) -> None:
    before = propose(scene, FIRST, SECOND)
    after = edits.edit_step(scene.store, before.id, 1, DESTROY, before.digest, scene.clock.now())
    assert (after.risk, after.digest == before.digest) == (Risk.DESTROY, False)
    step = plan_of(scene).steps[1]
    assert (step.command, step.asked, step.risk, bool(step.risk_why)) == (DESTROY, SECOND, Risk.DESTROY, True)
    with pytest.raises(DigestMismatch):
        approve(scene, before)
    with pytest.raises(DigestMismatch):
        edits.edit_step(scene.store, before.id, 0, "uptime", before.digest, scene.clock.now())
    approve(scene, after, 0, 1)
    turn = scene.must_turn()
    assert told(scene, "plan_decided")["steps"][1] == {
        "step": 1, "approved": True, "host": HOST, "command": DESTROY, "edited_by_operator": True,
        "you_proposed": SECOND,
    }  # fmt: skip
    assert scene.run(turn, DESTROY)[1].state is State.QUEUED
    assert scene.run(turn, SECOND)[1].state is State.WAITING  # though the window would cover it
    (approval,) = scene.pending()
    assert approval.drift == Drift(plan_of(scene).id, 1, DESTROY, SECOND)


def test_edited_back_it_counts_as_never_edited(scene: Scene) -> None:
    before = propose(scene, FIRST)
    edited = edits.edit_step(scene.store, before.id, 0, SECOND, before.digest, scene.clock.now())
    back = edits.edit_step(scene.store, before.id, 0, FIRST, edited.digest, scene.clock.now())
    assert (back.digest, plan_of(scene).steps[0].asked) == (before.digest, None)


def test_the_same_edit_again_changes_nothing(scene: Scene) -> None:
    before = propose(scene, FIRST)
    after = edits.edit_step(scene.store, before.id, 0, SECOND, before.digest, scene.clock.now())
    assert edits.edit_step(scene.store, before.id, 0, SECOND, before.digest, scene.clock.now()) == after


def test_an_edited_command_runs_as_edited_once_and_the_agent_learns_it_with_the_result(scene: Scene) -> None:
    before = ask(scene, DESTROY)
    after = edits.edit_command(scene.store, before.id, FIRST, before.digest, scene.clock.now())
    assert (after.command, after.risk, after.scopes) == (FIRST, Risk.CHANGE, (Scope.ONCE, Scope.WINDOW))
    with pytest.raises(DigestMismatch):
        scene.decide(before)
    scene.decide(after, scope=Scope.ONCE)
    ran = scene.carry_out()
    assert (ran.command, ran.asked, ran.risk) == (FIRST, DESTROY, Risk.CHANGE)
    scene.must_turn()
    ended = told(scene, "execution_ended")
    assert (ended["command"], ended["edited_by_operator"], ended["you_asked_for"]) == (FIRST, True, DESTROY)


def test_a_command_edited_into_what_destroys_can_only_be_approved_once(scene: Scene) -> None:
    before = ask(scene, FIRST)
    after = edits.edit_command(scene.store, before.id, DESTROY, before.digest, scene.clock.now())
    assert (after.risk, after.scopes) == (Risk.DESTROY, (Scope.ONCE,))


@pytest.mark.parametrize("command", ["", " \n", "echo \x00", "echo \ud800"])
def test_what_no_card_can_show_is_not_taken(scene: Scene, command: str) -> None:
    before = ask(scene, FIRST)
    with pytest.raises(InvalidInput):
        edits.edit_command(scene.store, before.id, command, before.digest, scene.clock.now())
    assert scene.pending() == (before,)


def test_only_what_is_there_and_is_asked_can_be_edited(scene: Scene) -> None:
    approval = propose(scene, FIRST)
    now = scene.clock.now()
    with pytest.raises(NotFound):
        edits.edit_step(scene.store, approval.id, 1, SECOND, approval.digest, now)
    with pytest.raises(NotFound):
        edits.edit_command(scene.store, approval.id, SECOND, approval.digest, now)
    scene.decide(approval)
    with pytest.raises(AlreadyDecided):
        edits.edit_step(scene.store, approval.id, 0, SECOND, approval.digest, now)


def test_a_question_whose_place_another_took_cannot_be_edited(scene: Scene) -> None:
    approval = propose(scene, FIRST)
    scene.say("make it another plan")
    turn = scene.must_turn()
    scene.propose(turn, SECOND)
    with pytest.raises(Withdrawn):
        edits.edit_step(scene.store, approval.id, 0, THIRD, approval.digest, scene.clock.now())


def test_a_command_that_departs_from_the_plan_asks_and_shows_the_step(scene: Scene) -> None:
    approval = propose(scene, FIRST, SECOND)
    approve(scene, approval, 0, 1, scope=Scope.PLAN)
    turn = scene.must_turn()
    _, execution = scene.run(turn, "systemctl restart db")
    assert execution.state is State.WAITING
    (asked,) = scene.pending()
    assert asked.drift == Drift(plan_of(scene).id, 0, FIRST, "systemctl restart db")
    edited = edits.edit_command(scene.store, asked.id, FIRST, asked.digest, scene.clock.now())
    assert edited.drift is None


def test_other_work_under_the_plan_asks_without_a_step(scene: Scene) -> None:
    approve(scene, propose(scene, FIRST), 0, scope=Scope.PLAN)
    turn = scene.must_turn()
    scene.run(turn, "useradd eve")
    (asked,) = scene.pending()
    assert asked.drift is None


def test_a_denial_reaches_the_agent_in_the_operators_own_words(scene: Scene) -> None:
    approval = propose(scene, FIRST)
    approvals.settle(
        scene.store, approval.id, Verdict.DENY, scene.clock.moment(), by="ada", route=Route.BUTTON,
        digest=approval.digest, note="not on a Friday", minutes=MINUTES,
    )  # fmt: skip
    scene.must_turn()
    event = told(scene, "plan_decided")
    assert (event["verdict"], event["note"], event["steps"][0]["approved"]) == ("deny", "not on a Friday", False)
    with scene.store.read() as connection:
        assert approval_rows.get(connection, approval.id).note == "not on a Friday"


def test_a_page_of_messages_has_all_plans_that_they_propose(scene: Scene) -> None:
    first = scene.plan_approved(FIRST)
    turn = scene.must_turn()
    second = scene.propose(turn, SECOND)
    snapshot = scene.snapshot()
    assert [plan.id for plan in snapshot.plans] == [first.id, second.id]
    assert snapshot.plan == snapshot.plans[-1]
    with scene.store.read() as connection:
        newest = snapshots.session(connection, scene.session_id, limit=1)
        oldest = snapshots.session(connection, scene.session_id, before=newest.messages[0].position)
    assert [plan.id for plan in newest.plans] == [second.id]
    assert [plan.id for plan in oldest.plans] == [first.id]
