"""What was shown is what runs: a yes is checked when it is given, and again when the command starts."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from nomos.actions import executions as execution_actions
from nomos.actions import hosts as host_actions
from nomos.actions import windows
from nomos.domain.approvals import Approval, ApprovalState, Verdict
from nomos.domain.executions import Risk, State
from nomos.domain.messages import Origin
from nomos.domain.plans import PlanState
from nomos.errors import DigestMismatch, Withdrawn
from nomos.store import approvals, executions, plans
from tests.harness.consent import ask, ask_as, ask_plan, change_host, events, execution_of, host
from tests.harness.scene import CHANGE, DESTROY, HOST, READ, Scene

CHANGES = [
    ({"address": "10.9.9.9"}, "its address was 127.0.0.1:22 and is 10.9.9.9:22 now"),
    ({"port": 2222}, "its address was 127.0.0.1:22 and is 127.0.0.1:2222 now"),
    ({"user": "ada"}, "its user was root and is ada now"),
    (
        {"host_key": "ssh-ed25519 AAAA", "fingerprint": "SHA256:new"},
        "its host key was not trusted and is SHA256:new now",
    ),
]
ANY_CHANGE = pytest.mark.parametrize(("values", "words"), CHANGES, ids=["address", "port", "user", "key"])


def start(scene: Scene) -> bool:
    """A worker takes the next execution and begins it. False: it was withdrawn instead."""
    taken = scene.take()
    assert taken is not None
    return execution_actions.begin(scene.store, taken[0], "boot", scene.clock.moment()) is not None


def fresh(scene: Scene, old: Approval) -> Approval:
    """The question that was asked in the place of another."""
    (approval,) = scene.pending()
    assert approval.id != old.id
    with scene.store.read() as connection:
        assert approvals.get(connection, old.id).state is ApprovalState.WITHDRAWN
    return approval


# -------------------------------------------------------------------------------- between shown and decided


@ANY_CHANGE
@pytest.mark.parametrize("command", [CHANGE, DESTROY])
def test_a_host_that_changed_since_it_was_shown_is_asked_about_anew(
    scene: Scene, command: str, values: dict[str, Any], words: str
) -> None:
    shown = ask(scene, command)
    assert [identity.name for identity in shown.bound] == [HOST]
    change_host(scene, **values)
    with pytest.raises(DigestMismatch, match="changed since it was shown"):
        scene.decide(shown)
    again = fresh(scene, shown)
    assert again.changed is not None
    assert words in again.changed
    assert again.digest != shown.digest
    assert execution_of(scene, again).state is State.WAITING
    assert scene.snapshot().window is None
    with pytest.raises(Withdrawn):
        scene.decide(shown)
    scene.decide(again)
    assert start(scene)


@ANY_CHANGE
def test_a_plan_whose_host_changed_is_asked_about_anew(scene: Scene, values: dict[str, Any], words: str) -> None:
    shown = ask_plan(scene, CHANGE, DESTROY)
    change_host(scene, **values)
    with pytest.raises(DigestMismatch):
        scene.decide(shown)
    again = fresh(scene, shown)
    assert words in str(again.changed)
    assert again.plan_id == shown.plan_id
    plan = scene.snapshot().plan
    assert plan is not None
    assert plan.state is PlanState.PROPOSED
    scene.decide(again)
    turn = scene.must_turn()
    assert scene.run(turn, DESTROY)[1].state is State.QUEUED


def test_a_no_needs_no_second_look(scene: Scene) -> None:
    shown = ask(scene, CHANGE)
    change_host(scene, address="10.9.9.9")
    assert scene.decide(shown, Verdict.DENY).state is ApprovalState.DENIED


def test_a_question_about_a_host_that_is_gone_is_withdrawn(scene: Scene) -> None:
    shown = ask(scene, CHANGE)
    host_actions.remove(scene.store, host(scene).id, scene.clock.now())
    with pytest.raises(DigestMismatch, match="no longer in the inventory"):
        scene.decide(shown)
    assert scene.pending() == ()
    assert execution_of(scene, shown).state is State.WITHDRAWN


def test_todays_rules_count_when_it_is_decided(scene: Scene) -> None:
    shown = ask_as(scene, DESTROY, Risk.CHANGE)
    with pytest.raises(DigestMismatch, match="today's rules call"):
        scene.decide(shown)
    again = fresh(scene, shown)
    assert again.risk is Risk.DESTROY
    assert execution_of(scene, again).risk is Risk.DESTROY
    scene.decide(again)
    assert start(scene)


def test_rules_that_became_milder_ask_nothing_anew(scene: Scene) -> None:
    shown = ask_as(scene, READ, Risk.CHANGE)
    scene.decide(shown)
    assert start(scene)


def test_what_is_stored_must_be_what_was_asked_about(scene: Scene) -> None:
    shown = ask(scene, CHANGE)
    with scene.store.write(scene.clock.now()) as tx:
        executions.change(tx, str(shown.execution_id), command="systemctl restart db")
    with pytest.raises(DigestMismatch):
        scene.decide(shown)
    assert execution_of(scene, shown).state is State.WAITING


@pytest.mark.parametrize("hours", [1, 30, 24 * 40])
def test_a_late_yes_counts_if_nothing_changed(scene: Scene, hours: int) -> None:
    shown = ask(scene, CHANGE)
    scene.clock.advance(hours * 3600)
    scene.decide(shown)
    window = scene.snapshot().window
    assert window is not None
    assert window.opened_at == scene.clock.now()
    assert start(scene)


def test_a_late_yes_in_chat_to_something_that_changed_approves_nothing(scene: Scene) -> None:
    shown = ask_plan(scene, CHANGE)
    change_host(scene, address="10.9.9.9")
    scene.say("go ahead")
    again = fresh(scene, shown)
    assert scene.snapshot().window is None
    (told,) = events(scene, "changed_since_shown")
    assert "10.9.9.9" in told.text
    scene.decide(again)


def test_a_plan_that_was_superseded_is_not_decided_any_more(scene: Scene) -> None:
    first = ask_plan(scene, CHANGE)
    ask_plan(scene, DESTROY)
    with pytest.raises(Withdrawn):
        scene.decide(first)
    assert scene.snapshot().window is None


# -------------------------------------------------------------------------------- between decided and run


@ANY_CHANGE
def test_a_host_that_changed_after_the_yes_gets_nothing(scene: Scene, values: dict[str, Any], words: str) -> None:
    shown = ask(scene, CHANGE)
    scene.decide(shown)
    change_host(scene, **values)
    assert not start(scene)
    execution = execution_of(scene, shown)
    assert execution.state is State.WITHDRAWN
    assert words in str(execution.detail)
    assert "Nothing was run" in str(execution.detail)
    turn = scene.must_turn()
    assert turn.message.origin is Origin.CONTINUATION
    (told,) = events(scene, "execution_ended")
    assert '"state": "withdrawn"' in told.text
    assert "ask for it anew" in told.text
    assert scene.run(turn, CHANGE)[1].state is State.WAITING


@ANY_CHANGE
def test_nothing_of_an_approved_plan_runs_on_a_host_that_changed(
    scene: Scene, values: dict[str, Any], words: str
) -> None:
    assert words
    scene.plan_approved(CHANGE, DESTROY)
    turn = scene.must_turn()
    _, queued = scene.run(turn, CHANGE)
    assert queued.state is State.QUEUED
    change_host(scene, **values)
    assert not start(scene)
    assert scene.run(turn, DESTROY)[1].state is State.WAITING
    assert scene.run(turn, "touch /srv/x")[1].state is State.WAITING


def test_even_reading_is_bound_to_the_host_that_it_was_asked_of(scene: Scene) -> None:
    scene.say("look")
    turn = scene.must_turn()
    assert scene.run(turn, READ)[1].state is State.QUEUED
    change_host(scene, address="10.9.9.9")
    assert not start(scene)
    assert scene.run(turn, READ)[1].state is State.QUEUED
    assert start(scene)


def test_todays_rules_count_when_it_starts(scene: Scene) -> None:
    shown = ask(scene, CHANGE)
    scene.decide(shown)
    with scene.store.write(scene.clock.now()) as tx:  # as if it had been allowed when the rules called it read
        executions.change(tx, str(shown.execution_id), risk=Risk.READ)
    assert not start(scene)
    assert "today's rules call it change" in str(execution_of(scene, shown).detail)


@pytest.mark.parametrize(
    "values",
    [{"command": "systemctl restart db"}, {"host": "nas2"}, {"digest": "0" * 64}, {"approval_id": "0" * 36}],
    ids=["command", "host", "digest", "approval"],
)
def test_a_row_that_was_changed_after_the_yes_is_not_started(scene: Scene, values: dict[str, Any]) -> None:
    host_actions.add(scene.store, "nas2", "root@127.0.0.1:22", scene.clock.now())
    shown = ask(scene, CHANGE)
    scene.decide(shown)
    with scene.store.write(scene.clock.now()) as tx:
        executions.change(tx, str(shown.execution_id), **values)
    assert not start(scene)
    assert execution_of(scene, shown).state is State.WITHDRAWN


def test_the_steps_of_an_approved_plan_cannot_change_their_places(scene: Scene) -> None:
    plan = scene.plan_approved(CHANGE, DESTROY)
    turn = scene.must_turn()
    assert scene.run(turn, DESTROY)[1].state is State.QUEUED
    with scene.store.write(scene.clock.now()) as tx:
        stored = plans.get(tx.c, plan.id)
        plans.set_steps(tx, dataclasses.replace(stored, steps=stored.steps[::-1]))
    assert not start(scene)


def test_a_start_that_the_host_never_saw_is_checked_once_more(scene: Scene) -> None:
    shown = ask(scene, CHANGE)
    scene.decide(shown)
    assert start(scene)
    scene.clock.advance(3600)
    assert start(scene), "taken over after a crash: the same approval, the same command"
    scene.clock.advance(3600)
    change_host(scene, address="10.9.9.9")
    assert not start(scene)
    assert execution_of(scene, shown).state is State.WITHDRAWN


# -------------------------------------------------------------------------------- once, and the gate


def test_one_yes_runs_one_command_once(scene: Scene) -> None:
    shown = ask(scene, DESTROY)
    scene.decide(shown)
    scene.carry_out(State.FAILED, 1)
    with scene.store.read() as connection:
        assert approvals.get(connection, shown.id).used_at == scene.clock.now()
    turn = scene.must_turn()
    assert scene.run(turn, DESTROY)[1].state is State.WAITING


def test_a_step_may_run_again_as_long_as_its_window_is_open(scene: Scene) -> None:
    scene.plan_approved(DESTROY)
    turn = scene.must_turn()
    for _ in range(2):
        assert scene.run(turn, DESTROY)[1].state is State.QUEUED
        scene.carry_out(State.FAILED, 1)
    assert scene.run(turn, DESTROY + " ")[1].state is State.WAITING
    windows.revoke(scene.store, scene.session_id, scene.clock.moment())
    assert scene.run(turn, DESTROY)[1].state is State.WAITING


@pytest.mark.parametrize("origin", [Origin.CONTINUATION, Origin.DECISION, Origin.RECOVERY])
def test_a_turn_that_the_machine_started_has_the_same_gate_and_nothing_more(scene: Scene, origin: Origin) -> None:
    scene.plan_approved(CHANGE)
    turn = scene.must_turn()
    assert turn.message.origin is Origin.DECISION
    if origin is Origin.CONTINUATION:
        block, execution = scene.run(turn, CHANGE, asynchronous=True)
        scene.answer(turn, block, execution)
        scene.end(turn)
        scene.carry_out()
        turn = scene.must_turn()
        assert turn.message.origin is Origin.CONTINUATION
    if origin is Origin.RECOVERY:
        scene.clock.advance(16)
        turn = scene.must_turn()
        assert turn.resumed
    assert scene.run(turn, CHANGE)[1].state is State.QUEUED
    assert scene.run(turn, "touch /srv/x")[1].state is State.QUEUED, "the window covers changes on its host"
    assert scene.run(turn, DESTROY)[1].state is State.WAITING, "never on a window"
    assert scene.run(turn, "cat /etc/shadow")[1].risk is Risk.CHANGE
    windows.revoke(scene.store, scene.session_id, scene.clock.moment())
    assert scene.run(turn, CHANGE)[1].state is State.WAITING
    assert scene.run(turn, "cat /etc/shadow")[1].state is State.WAITING
    assert scene.run(turn, READ)[1].state is State.QUEUED


def test_a_receipt_can_be_read(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    scene.run(scene.must_turn(), CHANGE)
    scene.carry_out()
    windows.revoke(scene.store, scene.session_id, scene.clock.moment())
    (receipt,) = events(scene, "window_ended")
    said = json.loads(receipt.text.partition(": ")[2])
    assert said["why"] == "revoked"
    assert [(used["host"], used["command"], used["state"]) for used in said["used"]] == [(HOST, CHANGE, "succeeded")]
