"""Stop, on both engines, whatever it meets on its way."""

from __future__ import annotations

import pytest

from nomos.actions import executions as execution_actions
from nomos.actions import sessions as session_actions
from nomos.actions import turns
from nomos.actions import workers as worker_actions
from nomos.domain.executions import State
from nomos.domain.messages import MessageStatus, Origin
from nomos.domain.sessions import Ending, SessionState
from nomos.errors import Conflict
from tests.harness.scene import CHANGE, HOST, READ, Scene, call, reply, text


def stop(scene: Scene, *, with_executions: bool = False) -> None:
    session_actions.stop(
        scene.store, scene.session_id, scene.clock.now(), with_executions=with_executions, by="ada"
    )  # fmt: skip


def running(scene: Scene) -> turns.Turn:
    """A turn under an open window, with one command of it under way elsewhere."""
    scene.plan_approved(CHANGE)
    turn = scene.must_turn()
    block, execution = scene.run(turn, CHANGE, asynchronous=True)
    scene.answer(turn, block, execution)
    return turn


def test_a_stop_that_meets_the_end_of_the_turn_still_holds(scene: Scene) -> None:
    turn = running(scene)
    stop(scene)
    scene.end(turn, MessageStatus.DONE, Ending.TALK)
    scene.carry_out()
    assert scene.turn() is None
    assert scene.snapshot().session.state is SessionState.STOPPED


def test_a_stop_that_meets_a_turn_being_put_off_ends_it(scene: Scene) -> None:
    turn = running(scene)
    stop(scene)
    turns.put_off(scene.store, turn.claim, turn.message.id, scene.clock.moment(), 8.0, "waits")
    assert scene.snapshot().messages[-1].status is MessageStatus.STOPPED
    scene.carry_out()
    scene.clock.advance(60)
    assert scene.turn() is None
    assert scene.snapshot().session.state is SessionState.STOPPED


def test_nothing_is_queued_after_a_stop(scene: Scene) -> None:
    scene.say("look")
    turn = scene.must_turn()
    (block,) = scene.accept(turn, reply(call(host=HOST, command=READ)))
    stop(scene)
    with pytest.raises(Conflict, match="pressed Stop"):
        execution_actions.request(
            scene.store, turn.claim, turn.message.id, block.id, scene.clock.moment(), host=HOST, command=READ,
            reason="x", asynchronous=False,
        )  # fmt: skip
    assert scene.snapshot().executions == ()


def test_a_turn_that_nobody_runs_is_stopped_at_once_with_its_calls_closed(scene: Scene) -> None:
    scene.say("look")
    turn = scene.must_turn()
    (block,) = scene.accept(turn, reply(call(host=HOST, command=READ)))
    worker_actions.leave(scene.store, scene.owner, scene.clock.moment())
    stop(scene)
    message = scene.snapshot().messages[-1]
    assert message.status is MessageStatus.STOPPED
    assert "pressed Stop" in (next(part for part in message.blocks if part.id == block.id).result or "")
    assert scene.turn() is None


def test_words_before_the_stop_wait_for_the_next_ones(scene: Scene) -> None:
    scene.say("do this")
    stop(scene)
    assert scene.turn() is None
    scene.say("no, that")
    assert scene.must_turn().message.origin is Origin.OPERATOR


def test_words_after_the_stop_are_heard_even_if_the_turn_ends_later(scene: Scene) -> None:
    turn = running(scene)
    stop(scene)
    scene.say("now do that")
    scene.end(turn, MessageStatus.STOPPED, Ending.STOPPED)
    assert scene.snapshot().session.state is SessionState.WORKING
    assert scene.must_turn().message.origin is Origin.OPERATOR


def test_a_call_closed_early_says_how_its_command_stands(scene: Scene) -> None:
    scene.say("look")
    turn = scene.must_turn()
    block, _ = scene.run(turn, READ)
    scene.start()
    stop(scene)
    scene.end(turn, MessageStatus.STOPPED, Ending.STOPPED)
    closed = next(part for part in scene.snapshot().messages[-1].blocks if part.id == block.id)
    assert closed.is_error
    assert " running. The turn ended before this call had its result" in (closed.result or "")


def test_stopping_ends_what_runs_only_if_asked_and_once_confirmed(scene: Scene) -> None:
    scene.end(running(scene))
    claim = scene.start()
    stop(scene)
    assert scene.snapshot().executions[0].cancel_requested_at is None
    stop(scene, with_executions=True)
    execution = scene.snapshot().executions[0]
    assert (execution.state, execution.cancel_requested_at) == (State.RUNNING, scene.clock.now())
    execution_actions.finish(scene.store, claim, State.CANCELLED, scene.clock.now())
    assert scene.snapshot().session.state is SessionState.STOPPED
    assert scene.turn() is None


def test_what_no_worker_has_taken_is_cancelled_at_once(scene: Scene) -> None:
    scene.end(running(scene))
    stop(scene, with_executions=True)
    assert scene.snapshot().executions[0].state is State.CANCELLED
    assert scene.take() is None


def test_words_while_the_model_is_away_are_heard_at_once(scene: Scene) -> None:
    turn = running(scene)
    scene.say("are you there?")
    turns.put_off(scene.store, turn.claim, turn.message.id, scene.clock.moment(), 300.0, "waits")
    again = scene.must_turn()
    assert (again.resumed, again.message.origin) == (False, Origin.OPERATOR)
    before = next(m for m in scene.snapshot().messages if m.id == turn.message.id)
    assert (before.status, before.blocks[-1].code) == (MessageStatus.FAILED, "superseded")


def test_a_turn_that_was_put_off_comes_back_by_itself(scene: Scene) -> None:
    turn = running(scene)
    turns.put_off(scene.store, turn.claim, turn.message.id, scene.clock.moment(), 8.0, "waits")
    assert scene.turn() is None
    scene.clock.advance(9)
    again = scene.must_turn()
    assert (again.resumed, again.message.id) == (True, turn.message.id)
    scene.accept(again, reply(text("here I am")))
    assert not any(part.code == "model_waits" for part in scene.snapshot().messages[-1].blocks)
