"""Undo this step: a new question about the exact undoing command, never more than that."""

from __future__ import annotations

import json

import pytest

from nomos.actions import plans
from nomos.actions.plans import Draft
from nomos.actions.undo import propose_undo
from nomos.clock import SettableClock
from nomos.domain.approvals import Verdict
from nomos.domain.executions import Execution, Risk, State
from nomos.errors import Conflict, NotFound
from nomos.store import executions
from nomos.store.engine import Store
from tests.harness.scene import CHANGE, HOST, READ, Scene, call, reply, text


@pytest.fixture
def done(scene: Scene, store: Store, clock: SettableClock) -> Execution:
    """A step of an approved plan that was carried out and whose undoing is known."""
    scene.say("please")
    turn = scene.must_turn()
    (block,) = scene.accept(turn, reply(call("propose_plan", goal="a goal")))
    drafts = [Draft(HOST, CHANGE, "because", "systemctl stop web"), Draft(HOST, "touch /srv/x", "because", "By hand.")]
    plans.propose(
        store, turn.claim, turn.message.id, block.id, clock.now(), goal="a goal", verify="look", drafts=drafts
    )
    scene.accept(turn, reply(text("Shall I?")))
    scene.end(turn)
    scene.decide(scene.pending()[0])
    turn = scene.must_turn()
    scene.run(turn, CHANGE)
    scene.end(turn)
    return scene.carry_out()


def run_to_end(scene: Scene, command: str) -> Execution:
    """The agent runs one more command of what the window covers."""
    scene.say("and now")
    turn = scene.must_turn()
    scene.run(turn, command)
    scene.end(turn)
    return scene.carry_out()


def test_it_asks_and_runs_nothing(scene: Scene, store: Store, clock: SettableClock, done: Execution) -> None:
    asked = propose_undo(store, done.id, clock.now(), by="ada")
    assert (asked.state, asked.command, asked.host, asked.undoes) == (
        State.WAITING, "systemctl stop web", HOST, done.id,
    )  # fmt: skip
    assert asked.risk is Risk.CHANGE
    (approval,) = scene.pending()
    assert (approval.execution_id, approval.command, approval.digest) == (asked.id, asked.command, asked.digest)
    assert CHANGE in approval.reason
    assert scene.take() is None


def test_its_card_stands_in_the_timeline_in_words_that_are_not_the_operators(
    scene: Scene, store: Store, clock: SettableClock, done: Execution
) -> None:
    asked = propose_undo(store, done.id, clock.now(), by="ada")
    last = scene.snapshot().messages[-1]
    assert (last.id, last.role) == (asked.message_id, "event")
    words, card = last.blocks
    assert card.execution_id == asked.id
    event = json.loads(words.text.partition(": ")[2])
    assert (event["event"], event["undoes"], event["command"]) == ("undo_asked", done.id, "systemctl stop web")


def test_approved_it_runs_and_the_agent_is_told(
    scene: Scene, store: Store, clock: SettableClock, done: Execution
) -> None:
    asked = propose_undo(store, done.id, clock.now(), by="ada")
    scene.decide(scene.pending()[0])
    assert scene.carry_out().id == asked.id
    turn = scene.must_turn()
    told = [message.text for message in scene.snapshot().messages if message.role == "event"]
    assert any(asked.id in words and "execution_ended" in words for words in told)
    scene.end(turn)
    with pytest.raises(Conflict, match="succeeded"):
        propose_undo(store, done.id, clock.now(), by="ada")


def test_a_second_press_asks_nothing_new(scene: Scene, store: Store, clock: SettableClock, done: Execution) -> None:
    propose_undo(store, done.id, clock.now(), by="ada")
    with pytest.raises(Conflict, match="waiting"):
        propose_undo(store, done.id, clock.now(), by="ada")
    assert len(scene.pending()) == 1


def test_denied_it_can_be_asked_again(scene: Scene, store: Store, clock: SettableClock, done: Execution) -> None:
    propose_undo(store, done.id, clock.now(), by="ada")
    scene.decide(scene.pending()[0], Verdict.DENY)
    again = propose_undo(store, done.id, clock.now(), by="ada")
    assert again.state is State.WAITING


def test_a_yes_in_the_chat_is_not_an_answer_to_it(
    scene: Scene, store: Store, clock: SettableClock, done: Execution
) -> None:
    turn = scene.must_turn()
    scene.accept(turn, reply(text("Done.")))
    scene.end(turn)
    asked = propose_undo(store, done.id, clock.now(), by="ada")
    scene.say("go ahead")
    with store.read() as connection:
        assert executions.get(connection, asked.id).state is State.WAITING


@pytest.mark.parametrize("command", ["touch /srv/x", "systemctl reload web", READ])
def test_what_has_no_known_way_back_is_refused(
    scene: Scene, store: Store, clock: SettableClock, done: Execution, command: str
) -> None:
    other = run_to_end(scene, command)
    with pytest.raises(Conflict, match=r"Nothing that undoes it is known\. Nothing was changed"):
        propose_undo(store, other.id, clock.now(), by="ada")


def test_what_is_not_there(store: Store, clock: SettableClock) -> None:
    with pytest.raises(NotFound):
        propose_undo(store, "3b1c6f0e-0000-4000-8000-000000000001", clock.now(), by="ada")
