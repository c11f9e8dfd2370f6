"""The window as a lease: to the second, by two clocks, revoked in mid plan, and ended once with a receipt."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nomos.actions import executions as execution_actions
from nomos.actions import windows
from nomos.actions import workers as worker_actions
from nomos.domain.approvals import Verdict
from nomos.domain.executions import Execution, State
from nomos.domain.messages import Origin
from nomos.domain.sessions import SessionState
from nomos.domain.windows import Ended, Scope, Window
from tests.harness.consent import ask, ask_plan, events
from tests.harness.scene import CHANGE, DESTROY, LIMITS, MINUTES, READ, Scene
from tests.harness.threads import all_fine

END = MINUTES * 60


def window(scene: Scene) -> Window:
    """The session's window."""
    found = scene.snapshot().window
    assert found is not None
    return found


def receipts(scene: Scene) -> list[Any]:
    """What the receipts say, oldest first."""
    return [json.loads(message.text.partition(": ")[2]) for message in events(scene, "window_ended")]


def close_over(scene: Scene) -> int:
    """The poller ends what is over."""
    return windows.close_over(scene.store, scene.clock.moment())


def runs(scene: Scene, command: str = CHANGE) -> bool:
    """Whether the agent's call runs unasked."""
    turn = scene.turn()
    if turn is None:
        scene.say("go on")
        turn = scene.must_turn()
    _, execution = scene.run(turn, command)
    scene.end(turn)
    return execution.state is State.QUEUED


# -------------------------------------------------------------------------------- its end


@pytest.mark.parametrize(("seconds", "allowed"), [(END - 1, True), (END + 1, False)])
@pytest.mark.parametrize("command", [CHANGE, DESTROY, "touch /srv/x"])
def test_open_at_29_59_and_over_at_30_01(scene: Scene, seconds: int, allowed: bool, command: str) -> None:
    scene.plan_approved(CHANGE, DESTROY)
    scene.clock.advance(seconds)
    assert runs(scene, command) is allowed


@pytest.mark.parametrize(("seconds", "started"), [(END - 1, True), (END + 1, False)])
def test_what_is_still_queued_when_it_is_over_is_not_started(scene: Scene, seconds: int, started: bool) -> None:
    scene.plan_approved(CHANGE)
    scene.run(scene.must_turn(), CHANGE)
    taken = scene.take()
    assert taken is not None
    scene.clock.advance(seconds)
    assert (execution_actions.begin(scene.store, taken[0], "boot", scene.clock.moment()) is not None) is started


def test_its_end_parks_and_fails_nothing(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    turn = scene.must_turn()
    block, execution = scene.run(turn, CHANGE, asynchronous=True)
    scene.answer(turn, block, execution)
    scene.end(turn)
    claim = scene.start()
    scene.clock.advance(END + 1)
    assert close_over(scene) == 1
    execution_actions.finish(scene.store, claim, State.SUCCEEDED, scene.clock.now(), exit_code=0)
    assert scene.turn() is None
    assert scene.snapshot().session.state is SessionState.PARKED
    windows.extend(scene.store, scene.session_id, MINUTES, scene.clock.moment(), by="ada")
    assert scene.must_turn().message.origin is Origin.CONTINUATION
    (told,) = events(scene, "execution_ended")
    assert '"state": "succeeded"' in told.text


def test_what_waited_for_its_turn_on_the_host_is_withdrawn_and_told_when_it_goes_on(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    turn = scene.must_turn()
    for _ in range(2):
        scene.answer(turn, *scene.run(turn, CHANGE, asynchronous=True))
    scene.end(turn)
    claim = scene.start()
    scene.clock.advance(END + 1)
    close_over(scene)
    execution_actions.finish(scene.store, claim, State.SUCCEEDED, scene.clock.now(), exit_code=0)
    waited = scene.snapshot().executions[1]
    assert waited.state is State.WITHDRAWN
    assert "has ended (expired)" in str(waited.detail)
    assert scene.turn() is None
    assert scene.snapshot().session.state is SessionState.PARKED
    windows.extend(scene.store, scene.session_id, MINUTES, scene.clock.moment(), by="ada")
    turn = scene.must_turn()
    assert len(events(scene, "execution_ended")) == 2
    assert scene.run(turn, CHANGE)[1].state is State.QUEUED, "reopened, it covers what it covered"


def test_extending_counts_from_now_and_never_shortens(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    before = window(scene)
    windows.extend(scene.store, scene.session_id, 5, scene.clock.moment(), by="ada")
    assert window(scene) == before
    scene.clock.advance(600)
    windows.extend(scene.store, scene.session_id, MINUTES, scene.clock.moment(), by="ada")
    scene.clock.advance(END - 1)
    assert runs(scene)
    scene.clock.advance(2)
    assert not runs(scene)


def test_use_prolongs_nothing(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    before = window(scene)
    scene.clock.advance(60)
    assert runs(scene)
    scene.carry_out()
    after = window(scene)
    assert (after.expires_at, after.expires_ticks) == (before.expires_at, before.expires_ticks)
    assert len(after.used) == 1


# -------------------------------------------------------------------------------- the two clocks


@pytest.mark.parametrize("step", [-59, -20 * 60, -24 * 3600])
def test_a_wall_clock_set_back_prolongs_nothing(scene: Scene, step: int) -> None:
    scene.plan_approved(CHANGE)
    scene.clock.advance(25 * 60)
    scene.clock.step(step)
    scene.clock.advance(5 * 60 + 1)
    assert not runs(scene)
    close_over(scene)
    assert [receipt["why"] for receipt in receipts(scene)] == ["expired"]


def test_a_restart_of_nomos_changes_nothing(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    worker_actions.leave(scene.store, scene.owner, scene.clock.moment())
    scene.clock.advance(60)
    assert close_over(scene) == 0
    assert runs(scene)


def test_a_restart_of_the_machine_keeps_the_window_if_the_clocks_agree(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    scene.clock.advance(600)
    scene.clock.reboot()
    assert not runs(scene), "not before the poller has looked at the clocks"
    assert close_over(scene) == 0
    assert receipts(scene) == []
    assert runs(scene)
    scene.clock.advance(END - 600 + 1)
    assert not runs(scene)
    assert close_over(scene) == 1


def test_a_restart_of_the_machine_ends_a_window_whose_time_is_over(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    scene.clock.advance(END)
    scene.clock.reboot()
    assert close_over(scene) == 1
    assert [receipt["why"] for receipt in receipts(scene)] == ["expired"]


def test_a_machine_that_wakes_up_in_the_past_ends_the_window_and_says_why(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    scene.clock.advance(1200)
    worker_actions.beat(scene.store, scene.owner, scene.clock.moment(), 15.0, "model", [])
    scene.clock.step(-900)
    scene.clock.reboot()
    assert close_over(scene) == 1
    assert not runs(scene)
    assert [receipt["why"] for receipt in receipts(scene)] == ["clock"]
    assert window(scene).ended_why is Ended.CLOCK


# -------------------------------------------------------------------------------- revoked


def test_revoked_in_mid_plan_nothing_more_is_started(scene: Scene) -> None:
    scene.plan_approved(CHANGE, DESTROY)
    turn = scene.must_turn()
    _, runs_now = scene.run(turn, CHANGE)
    claim = scene.start()
    _, waits_for_the_host = scene.run(turn, DESTROY)
    _, reads = scene.run(turn, READ)
    closed, running = windows.revoke(scene.store, scene.session_id, scene.clock.moment())
    assert closed is not None
    assert closed.ended_why is Ended.REVOKED
    assert {execution.id for execution in running} == {runs_now.id, reads.id}
    left = {execution.id: execution for execution in scene.snapshot().executions}
    assert left[waits_for_the_host.id].state is State.WITHDRAWN
    execution_actions.finish(scene.store, claim, State.SUCCEEDED, scene.clock.now(), exit_code=0)
    assert scene.run(turn, DESTROY)[1].state is State.WAITING
    assert scene.run(turn, CHANGE)[1].state is State.WAITING


def test_what_a_worker_has_taken_but_not_started_is_not_started_after_revoke(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    _, execution = scene.run(scene.must_turn(), CHANGE)
    taken = scene.take()
    assert taken is not None
    windows.revoke(scene.store, scene.session_id, scene.clock.moment())
    assert execution_actions.begin(scene.store, taken[0], "boot", scene.clock.moment()) is None
    assert scene.snapshot().executions[0].state is State.WITHDRAWN
    assert execution.id == scene.snapshot().executions[0].id


def test_what_has_its_own_yes_runs_after_revoke_and_is_named(scene: Scene) -> None:
    scene.decide(ask(scene, CHANGE), scope=Scope.ONCE)
    _, running = windows.revoke(scene.store, scene.session_id, scene.clock.moment())
    assert [(execution.command, execution.state) for execution in running] == [(CHANGE, State.QUEUED)]
    scene.carry_out()


def test_start_and_revoke_at_once_agree(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    scene.run(scene.must_turn(), CHANGE)
    taken = scene.take()
    assert taken is not None

    def revoke() -> tuple[Execution, ...]:
        return windows.revoke(scene.store, scene.session_id, scene.clock.moment())[1]

    def begin() -> bool:
        return execution_actions.begin(scene.store, taken[0], "boot", scene.clock.moment()) is not None

    running, started = all_fine([revoke, begin])
    state = scene.snapshot().executions[0].state
    assert state is (State.STARTING if started else State.WITHDRAWN)
    assert isinstance(running, tuple)
    assert len(receipts(scene)) == 1


# -------------------------------------------------------------------------------- receipts


def test_an_expired_window_has_one_receipt_however_many_look(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    assert runs(scene)
    scene.carry_out()
    scene.clock.advance(END + 1)
    assert sum(all_fine([lambda: close_over(scene) for _ in range(6)])) == 1
    assert close_over(scene) == 0
    (receipt,) = receipts(scene)
    assert receipt["why"] == "expired"
    assert [used["command"] for used in receipt["used"]] == [CHANGE]
    windows.revoke(scene.store, scene.session_id, scene.clock.moment())
    assert len(receipts(scene)) == 1


@pytest.mark.parametrize("late", [0, END + 1])
def test_a_window_whose_place_another_takes_has_its_receipt(scene: Scene, late: int) -> None:
    scene.plan_approved(CHANGE)
    turn = scene.must_turn()
    scene.run(turn, DESTROY)
    scene.end(turn)
    scene.clock.advance(late)
    scene.decide(scene.pending()[0])
    assert [receipt["why"] for receipt in receipts(scene)] == ["expired" if late else "replaced"]
    assert window(scene).is_open(scene.clock.now())


def test_a_no_closes_the_window_with_a_receipt(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    turn = scene.must_turn()
    scene.run(turn, DESTROY)
    scene.end(turn)
    scene.decide(scene.pending()[0], Verdict.DENY)
    assert [receipt["why"] for receipt in receipts(scene)] == ["denied"]
    assert not runs(scene)


def test_a_receipt_starts_no_turn_and_is_told_with_the_next(scene: Scene) -> None:
    scene.plan_approved(CHANGE)
    scene.end(scene.must_turn())
    scene.clock.advance(END + 1)
    close_over(scene)
    assert scene.turn() is None
    scene.say("and now?")
    turn = scene.must_turn()
    places = {message.id: message.position for message in scene.snapshot().messages}
    (receipt,) = events(scene, "window_ended")
    assert places[receipt.id] < places[turn.message.id]


def test_many_windows_one_receipt_each(scene: Scene) -> None:
    scene.decide(ask_plan(scene, CHANGE))
    for _ in range(3):
        scene.clock.advance(60)
        scene.decide(ask(scene, DESTROY))
    windows.revoke(scene.store, scene.session_id, scene.clock.moment())
    windows.extend(scene.store, scene.session_id, 5, scene.clock.moment(), by="ada")
    scene.clock.advance(301)
    close_over(scene)
    assert [r["why"] for r in receipts(scene)] == ["replaced", "replaced", "replaced", "revoked", "expired"]
    assert LIMITS.assent_minutes == MINUTES
