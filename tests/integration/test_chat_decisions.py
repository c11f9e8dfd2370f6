"""Decisions by chat: only the one question that was asked last, and never what destroys."""

from __future__ import annotations

import pytest

from nomos.actions import windows
from nomos.domain.approvals import ApprovalState, Route, Verdict
from nomos.domain.messages import Origin
from nomos.domain.sessions import SessionState
from nomos.domain.windows import Scope
from tests.harness.scene import CHANGE, DESTROY, Scene, reply, text


def ask(scene: Scene, *commands: str) -> None:
    """The agent proposes a plan and asks."""
    scene.say("please")
    turn = scene.must_turn()
    scene.propose(turn, *commands)
    scene.accept(turn, reply(text("Shall I?")))
    scene.end(turn)


def test_go_ahead_approves_the_plan_asked_about_last(scene: Scene) -> None:
    ask(scene, CHANGE)
    assert scene.say("Go ahead.").origin is Origin.DECISION
    (approval,) = scene.snapshot().approvals
    assert (approval.state, approval.route, approval.decided_by) == (ApprovalState.APPROVED, Route.CHAT, "ada")
    window = scene.snapshot().window
    assert window is not None
    assert window.is_open(scene.clock.now())
    assert scene.must_turn().message.origin is Origin.DECISION


def test_a_yes_to_something_else_approves_nothing(scene: Scene) -> None:
    ask(scene, CHANGE)
    scene.say("what is a container?")
    turn = scene.must_turn()
    scene.accept(turn, reply(text("A box. Shall I explain more?")))
    scene.end(turn)
    assert scene.say("yes").origin is Origin.OPERATOR
    assert [approval.state for approval in scene.snapshot().approvals] == [ApprovalState.PENDING]


@pytest.mark.parametrize("may_decide", [True, False])
def test_who_may_not_decide_only_talks(scene: Scene, may_decide: bool) -> None:
    ask(scene, CHANGE)
    scene.say("yes", may_decide=may_decide)
    state = ApprovalState.APPROVED if may_decide else ApprovalState.PENDING
    assert [approval.state for approval in scene.snapshot().approvals] == [state]


def test_destruction_is_never_approved_by_chat_and_the_agent_is_told(scene: Scene) -> None:
    ask(scene, DESTROY)
    scene.say("go ahead")
    assert [approval.state for approval in scene.snapshot().approvals] == [ApprovalState.PENDING]
    assert scene.snapshot().messages[-1].blocks[0].code == "not_approved_by_chat"
    assert scene.snapshot().session.state is SessionState.WAITING


def test_a_no_denies_and_closes_the_window(scene: Scene) -> None:
    ask(scene, CHANGE)
    scene.say("yes")
    turn = scene.must_turn()
    block, execution = scene.run(turn, DESTROY)
    scene.answer(turn, block, execution)
    scene.end(turn)
    scene.say("no")
    snapshot = scene.snapshot()
    assert snapshot.executions[0].state == "denied"
    assert snapshot.window is not None
    assert not snapshot.window.is_open(scene.clock.now())


def test_of_two_open_questions_a_yes_answers_none(scene: Scene) -> None:
    scene.say("please")
    turn = scene.must_turn()
    scene.run(turn, CHANGE)
    scene.run(turn, CHANGE + "2")
    scene.end(turn)
    scene.say("yes")
    assert len(scene.pending()) == 2


def test_an_approval_opens_the_window_for_thirty_minutes_from_the_decision(scene: Scene) -> None:
    ask(scene, CHANGE)
    scene.clock.advance(3600)
    (approval,) = scene.pending()
    scene.decide(approval, scope=Scope.PLAN)
    window = scene.snapshot().window
    assert window is not None
    assert (window.expires_at - scene.clock.now()).total_seconds() == 1800
    assert (window.scope, window.hosts) == (Scope.PLAN, ())


def test_a_revoked_window_lets_nothing_more_run_unasked(scene: Scene) -> None:
    ask(scene, CHANGE)
    scene.say("yes")
    windows.revoke(scene.store, scene.session_id, scene.clock.moment())
    turn = scene.must_turn()
    _, execution = scene.run(turn, CHANGE)
    assert execution.state == "waiting"


def test_a_denied_command_leaves_no_way_to_run_it(scene: Scene) -> None:
    scene.say("please")
    turn = scene.must_turn()
    block, execution = scene.run(turn, CHANGE)
    scene.answer(turn, block, execution)
    scene.end(turn)
    (approval,) = scene.pending()
    scene.decide(approval, Verdict.DENY)
    assert scene.take() is None
    assert scene.must_turn().message.origin is Origin.DECISION
