"""A snapshot before a step changes a guest: an execution of its own, before the step or the step does not run."""

from __future__ import annotations

import pytest

from nomos.actions import approvals, executions, plans
from nomos.actions.growth import Batch, commit
from nomos.actions.plans import Draft
from nomos.clock import SettableClock
from nomos.domain.approvals import Approval, Route, Verdict
from nomos.domain.executions import Execution, State
from nomos.domain.undo import Snapshots, snapshot_name
from nomos.errors import InvalidInput
from nomos.store import executions as rows
from nomos.store.engine import Store
from tests.harness.scene import HOST, MINUTES, Scene, call, reply, text

STEP = "pct set 105 --memory 1024"


def ask(scene: Scene, mode: Snapshots, command: str = STEP) -> Execution:
    """The agent asks for a command while snapshots are as ``mode`` says."""
    scene.say("please")
    turn = scene.must_turn()
    (block,) = scene.accept(turn, reply(call(host=HOST, command=command, reason="because")))
    execution = executions.request(
        scene.store, turn.claim, turn.message.id, block.id, scene.clock.moment(), host=HOST, command=command,
        reason="because", asynchronous=True, snapshots=mode,
    )  # fmt: skip
    scene.answer(turn, block, execution)
    scene.end(turn)
    return execution


def decide(scene: Scene, approval: Approval, *, snapshot: bool) -> None:
    """The operator approves, with or without a snapshot first."""
    approvals.settle(
        scene.store, approval.id, Verdict.APPROVE, scene.clock.moment(), by="ada", route=Route.BUTTON,
        digest=approval.digest, minutes=MINUTES, snapshot=snapshot,
    )  # fmt: skip


def now(store: Store, execution: Execution) -> Execution:
    """The execution as it is stored."""
    with store.read() as connection:
        return rows.get(connection, execution.id)


def first(store: Store, execution: Execution) -> Execution:
    """The snapshot that is taken before it."""
    with store.read() as connection:
        return rows.get(connection, rows.get(connection, execution.id).after_id or "none")


def test_chosen_on_the_card_it_is_taken_and_the_step_follows(scene: Scene, store: Store) -> None:
    step = ask(scene, Snapshots.OFFER)
    decide(scene, scene.pending()[0], snapshot=True)
    snapshot = first(store, step)
    name = snapshot_name(step.id)
    assert (snapshot.command, snapshot.host, snapshot.state) == (f"pct snapshot 105 {name}", HOST, State.QUEUED)
    assert scene.carry_out().id == snapshot.id
    assert scene.turn() is None, "the agent hears of the step, not of the snapshot"
    done = scene.carry_out()
    assert (done.id, done.state, done.undo) == (step.id, State.SUCCEEDED, f"pct rollback 105 {name}")
    assert scene.turn() is not None


def test_the_step_waits_for_it(scene: Scene, store: Store) -> None:
    step = ask(scene, Snapshots.OFFER)
    decide(scene, scene.pending()[0], snapshot=True)
    scene.start()
    assert scene.take() is None
    assert now(store, step).state is State.QUEUED


def test_not_chosen_none_is_taken(scene: Scene, store: Store) -> None:
    step = ask(scene, Snapshots.OFFER)
    decide(scene, scene.pending()[0], snapshot=False)
    assert now(store, step).after_id is None
    assert scene.carry_out().id == step.id


def test_always_takes_it_unasked(scene: Scene, store: Store) -> None:
    step = ask(scene, Snapshots.ALWAYS)
    decide(scene, scene.pending()[0], snapshot=False)
    assert first(store, step).state is State.QUEUED


def test_none_is_offered_where_the_setting_says_so(scene: Scene) -> None:
    ask(scene, Snapshots.OFF)
    with pytest.raises(InvalidInput, match="none is offered"):
        decide(scene, scene.pending()[0], snapshot=True)
    assert len(scene.pending()) == 1


@pytest.mark.parametrize("command", ["pct create 106 local:vztmpl/x.tar.zst", "systemctl restart web", "pct start 105"])
def test_none_is_taken_where_it_would_not_help(scene: Scene, store: Store, command: str) -> None:
    step = ask(scene, Snapshots.ALWAYS, command)
    decide(scene, scene.pending()[0], snapshot=False)
    assert now(store, step).after_id is None


@pytest.mark.parametrize("state", [State.FAILED, State.TIMED_OUT, State.UNKNOWN])
def test_a_snapshot_that_failed_keeps_the_step_from_running(scene: Scene, store: Store, state: State) -> None:
    step = ask(scene, Snapshots.ALWAYS)
    decide(scene, scene.pending()[0], snapshot=False)
    scene.carry_out(state, 1)
    after = now(store, step)
    assert after.state is State.WITHDRAWN
    assert after.detail is not None
    assert after.detail.startswith("Nothing was run: the snapshot before it")
    assert scene.take() is None
    assert scene.turn() is not None, "the agent is told"


def test_a_snapshot_that_the_operator_stops_keeps_the_step_from_running(
    scene: Scene, store: Store, clock: SettableClock
) -> None:
    step = ask(scene, Snapshots.ALWAYS)
    decide(scene, scene.pending()[0], snapshot=False)
    executions.cancel(store, first(store, step).id, clock.now(), by="ada")
    assert now(store, step).state is State.WITHDRAWN


def test_where_the_storage_has_none_the_operator_is_asked_again(
    scene: Scene, store: Store, clock: SettableClock
) -> None:
    step = ask(scene, Snapshots.ALWAYS)
    decide(scene, scene.pending()[0], snapshot=False)
    claim = scene.start()
    commit(store, Batch(outputs={claim: [(b"snapshot feature is not available\n", 0)]}), clock, 1_000_000)
    executions.finish(store, claim, State.FAILED, clock.now(), exit_code=255)
    assert now(store, step).state is State.WITHDRAWN
    (again,) = scene.pending()
    assert (again.command, again.host) == (STEP, HOST)
    assert "snapshot feature is not available" in again.reason
    decide(scene, again, snapshot=False)
    done = scene.carry_out()
    assert (done.command, done.after_id) == (STEP, None)


def test_of_a_plan_each_guest_has_one(scene: Scene, store: Store) -> None:
    scene.say("please")
    turn = scene.must_turn()
    (block,) = scene.accept(turn, reply(call("propose_plan", goal="a goal")))
    commands = [STEP, "pct set 105 --cores 2", "pct set 106 --cores 2"]
    plans.propose(
        store, turn.claim, turn.message.id, block.id, scene.clock.now(), goal="a goal", verify="look",
        drafts=[Draft(HOST, command, "because") for command in commands], snapshots=Snapshots.OFFER,
    )  # fmt: skip
    scene.accept(turn, reply(text("Shall I?")))
    scene.end(turn)
    decide(scene, scene.pending()[0], snapshot=True)
    ran = []
    turn = scene.must_turn()
    for command in commands:
        (block,) = scene.accept(turn, reply(call(host=HOST, command=command, reason="because")))
        executions.request(
            store, turn.claim, turn.message.id, block.id, scene.clock.moment(), host=HOST, command=command,
            reason="because", asynchronous=True, snapshots=Snapshots.OFFER,
        )  # fmt: skip
    while scene_has_work(scene):
        ran.append(scene.carry_out().command)
    assert [command.split()[:3] for command in ran if "snapshot" in command] == [
        ["pct", "snapshot", "105"], ["pct", "snapshot", "106"],
    ]  # fmt: skip
    assert [command for command in ran if "snapshot" not in command] == commands
    assert ran.index(STEP) > 0
    assert scene.pending() == ()


def scene_has_work(scene: Scene) -> bool:
    """Whether an execution waits for a worker."""
    with scene.store.read() as connection:
        return any(e.state is State.QUEUED for e in rows.of_session(connection, scene.session_id))


def test_another_command_in_its_place_does_not_run(scene: Scene, store: Store, clock: SettableClock) -> None:
    step = ask(scene, Snapshots.ALWAYS)
    decide(scene, scene.pending()[0], snapshot=False)
    with store.write(clock.now()) as tx:  # somebody puts another command in the snapshot's place
        rows.change(tx, first(store, step).id, command="pct snapshot 999 nomos-00000000")
    taken = scene.take()
    assert taken is not None
    assert executions.begin(store, taken[0], "boot", clock.moment()) is None
    assert now(store, step).state is State.WITHDRAWN
