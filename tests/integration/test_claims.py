"""Claims on both engines: once, by number, for as long as the lease lasts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import pytest

from nomos.actions import executions as execution_actions
from nomos.actions import plans as plan_actions
from nomos.actions import sessions as session_actions
from nomos.actions import turns, windows
from nomos.actions import workers as worker_actions
from nomos.actions.plans import Draft
from nomos.domain.approvals import Approval, Verdict
from nomos.domain.continuations import Limits
from nomos.domain.executions import Execution, State
from nomos.domain.messages import BlockKind, MessageStatus, Origin, Role
from nomos.domain.sessions import Ending, SessionState
from nomos.errors import AlreadyDecided, ClaimLost, Conflict
from nomos.store import executions, messages, rows, sessions
from tests.harness.database import Database
from tests.harness.scene import CHANGE, DESTROY, HOST, LEASE, LIMITS, READ, Scene, reply, text
from tests.harness.threads import all_fine, together


def pollers(database: Database, work: Callable[[Scene], str | None], count: int = 6) -> list[str]:
    """What ``count`` workers took, each with a store of its own, looking until there is nothing left."""

    def take_all(scene: Scene) -> list[str]:
        taken = []
        while (found := work(scene)) is not None:
            taken.append(found)
        return taken

    scenes = [Scene(database.open(), database.clock, owner=f"worker-{n}") for n in range(count)]
    shares = all_fine([lambda scene=scene: take_all(scene) for scene in scenes])  # type: ignore[misc]
    return [found for share in shares for found in share]


def begun(scene: Scene) -> str | None:
    """One turn begun, by session."""
    turn = scene.turn()
    return None if turn is None else turn.claim.session_id


def taken(scene: Scene) -> str | None:
    """One execution taken."""
    found = scene.take()
    return None if found is None else found[1].id


def test_each_due_session_is_claimed_once(database: Database) -> None:
    store = database.open()
    waiting = []
    for _ in range(12):
        scene = Scene(store, database.clock).begin()
        scene.say("hello")
        waiting.append(scene.session_id)
    assert sorted(pollers(database, begun)) == sorted(waiting)
    with store.read() as connection:
        for session_id in waiting:
            page = messages.page(connection, session_id)
            assert [message.role for message in page] == [Role.OPERATOR, Role.AGENT]


def test_each_queued_execution_is_taken_once(scene: Scene, database: Database) -> None:
    scene.say("look")
    turn = scene.must_turn()
    asked = [scene.run(turn, READ)[1].id for _ in range(12)]
    assert sorted(pollers(database, taken)) == sorted(asked)


def test_changes_on_one_host_are_taken_one_after_the_other(scene: Scene, database: Database) -> None:
    scene.plan_approved(CHANGE)
    turn = scene.must_turn()
    asked = [scene.run(turn, f"{CHANGE}-{n}")[1] for n in range(4)]
    assert {execution.state for execution in asked} == {State.QUEUED}
    order = []
    for _ in asked:
        (one,) = pollers(database, taken, count=4)
        order.append(one)
        with scene.store.write(scene.clock.now()) as tx:
            executions.change(tx, one, state=State.UNREACHABLE, claim_owner=None)
    assert order == [execution.id for execution in asked]


def test_a_claimed_session_is_left_alone_until_its_lease_is_over(scene: Scene) -> None:
    scene.say("hello")
    first = scene.must_turn()
    assert scene.turn("worker-2") is None
    scene.clock.advance(LEASE - 1)
    turns.beat(scene.store, first.claim, scene.clock.moment(), LEASE)
    scene.clock.advance(LEASE - 1)
    assert scene.turn("worker-2") is None
    scene.clock.advance(2)
    second = scene.turn("worker-2")
    assert second is not None
    assert (second.resumed, second.message.id) == (True, first.message.id)
    assert second.claim.number == first.claim.number + 1


def test_a_step_of_the_wall_clock_ends_no_lease(scene: Scene) -> None:
    scene.say("hello")
    scene.must_turn()
    for seconds in (7200, -14400):
        scene.clock.step(seconds)
        assert scene.turn("worker-2") is None


def test_a_new_boot_ends_every_lease_at_once(scene: Scene, database: Database) -> None:
    scene.say("look")
    turn = scene.must_turn()
    scene.run(turn, READ)
    assert scene.take() is not None
    database.clock.reboot()
    assert scene.take("worker-2") is not None
    again = scene.turn("worker-2")
    assert again is not None
    assert again.resumed


def test_an_orderly_end_gives_claims_back_at_once(scene: Scene) -> None:
    scene.say("look")
    turn = scene.must_turn()
    scene.run(turn, READ)
    first = scene.take()
    assert first is not None
    worker_actions.leave(scene.store, scene.owner, scene.clock.moment())
    assert scene.turn("worker-2") is not None
    second = scene.take("worker-2")
    assert second is not None
    with pytest.raises(ClaimLost):
        execution_actions.begin(scene.store, first[0], "boot", scene.clock.moment())
    with pytest.raises(ClaimLost):
        scene.accept(turn, reply(text("late")))


def test_nothing_is_written_under_a_turns_old_claim(scene: Scene) -> None:
    scene.say("look")
    old = scene.must_turn()
    block, execution = scene.run(old, READ)
    scene.clock.advance(LEASE + 1)
    assert scene.turn("worker-2") is not None
    before = scene.snapshot()
    store, claim, message_id, now = scene.store, old.claim, old.message.id, scene.clock.now()
    writes: list[Callable[[], object]] = [
        lambda: turns.beat(store, claim, scene.clock.moment(), LEASE),
        lambda: turns.open_block(store, claim, message_id, BlockKind.TEXT, 1, now),
        lambda: turns.discard(store, claim, message_id, 0, now),
        lambda: turns.accept(store, claim, message_id, 1, reply(text("late")), {}, now, nudge=None),
        lambda: turns.answer(store, claim, block.id, "late", now),
        lambda: turns.answer_with(store, claim, block.id, execution.id, now, must=True),
        lambda: turns.note_try(store, claim, message_id, 1, 1, now),
        lambda: turns.put_off(store, claim, message_id, scene.clock.moment(), 1.0, "late"),
        lambda: turns.end(store, claim, message_id, MessageStatus.DONE, Ending.TALK, now),
        lambda: execution_actions.request(
            store,
            claim,
            message_id,
            block.id,
            scene.clock.moment(),
            host=HOST,
            command=READ,
            reason="late",
            asynchronous=False,
        ),
        lambda: plan_actions.propose(
            store, claim, message_id, block.id, now, goal="late", verify="", drafts=[Draft(HOST, READ, "")]
        ),
    ]
    for write in writes:
        with pytest.raises(ClaimLost):
            write()
    assert scene.snapshot() == before


def test_nothing_is_written_under_an_executions_old_claim(scene: Scene) -> None:
    scene.say("look")
    scene.run(scene.must_turn(), READ)
    first = scene.take()
    assert first is not None
    scene.clock.advance(LEASE + 1)
    assert scene.take("worker-2") is not None
    before = scene.snapshot()
    store, claim, now = scene.store, first[0], scene.clock.now()
    writes: list[Callable[[], object]] = [
        lambda: execution_actions.begin(store, claim, "boot", scene.clock.moment()),
        lambda: execution_actions.running(store, claim, now),
        lambda: execution_actions.note(store, claim, "late", now),
        lambda: execution_actions.note_question(store, claim, "late?", now),
        lambda: execution_actions.take_input(store, claim, now),
        lambda: execution_actions.finish(store, claim, State.UNREACHABLE, now),
        lambda: execution_actions.put_off(store, claim, scene.clock.moment(), 1.0, "late"),
    ]
    for write in writes:
        with pytest.raises(ClaimLost):
            write()
    assert scene.snapshot() == before


def test_renewing_an_old_claim_takes_nothing_from_the_new_holder(scene: Scene) -> None:
    scene.say("look")
    scene.run(scene.must_turn(), READ)
    first = scene.take()
    assert first is not None
    scene.clock.advance(LEASE + 1)
    second = scene.take("worker-2")
    assert second is not None
    worker_actions.beat(scene.store, "worker-1", scene.clock.moment(), 1000.0, "m", [first[0]])
    scene.clock.advance(LEASE + 1)
    assert scene.take("worker-3") is not None


def test_an_ended_execution_is_continued_exactly_once(scene: Scene, database: Database) -> None:
    scene.plan_approved(CHANGE)
    turn = scene.must_turn()
    for number in range(3):
        block, execution = scene.run(turn, f"{CHANGE}-{number}", asynchronous=True)
        scene.answer(turn, block, execution)
    scene.end(turn)
    for _ in range(3):
        scene.carry_out()
    assert pollers(database, begun) == [scene.session_id]
    told = [
        message
        for message in scene.snapshot().messages
        if message.blocks and message.blocks[0].code == "execution_ended"
    ]
    assert len(told) == 3
    assert all(execution.continued_at is not None for execution in scene.snapshot().executions)


def test_what_becomes_due_in_mid_turn_is_not_lost(scene: Scene) -> None:
    scene.say("first")
    turn = scene.must_turn()
    scene.say("second")
    assert scene.turn("worker-2") is None
    scene.accept(turn, reply(text("one")))
    scene.end(turn)
    assert scene.snapshot().session.state is SessionState.WORKING
    again = scene.must_turn()
    assert (again.resumed, again.message.origin) == (False, Origin.OPERATOR)
    scene.accept(again, reply(text("two")))
    scene.end(again)
    assert scene.turn() is None
    assert scene.snapshot().session.state is SessionState.IDLE


def test_two_answers_at_once_decide_once(scene: Scene, database: Database) -> None:
    scene.say("please")
    turn = scene.must_turn()
    block, execution = scene.run(turn, DESTROY)
    scene.answer(turn, block, execution)
    scene.end(turn)
    (approval,) = scene.pending()
    verdicts = [Verdict.APPROVE, Verdict.DENY] * 4
    others = [Scene(database.open(), database.clock, scene.session_id) for _ in verdicts]
    results = together(
        [lambda o=other, v=verdict: o.decide(approval, v) for other, verdict in zip(others, verdicts, strict=True)]  # type: ignore[misc]
    )
    counts = Counter(type(result) for result in results)
    assert counts == {Approval: 4, AlreadyDecided: 4}
    snapshot = scene.snapshot()
    state = snapshot.executions[0].state
    assert state is (State.QUEUED if snapshot.approvals[0].state == "approved" else State.DENIED)


def test_stop_and_the_end_of_a_command_do_not_wait_for_each_other(scene: Scene, database: Database) -> None:
    scene.plan_approved(CHANGE)
    turn = scene.must_turn()
    worker = Scene(database.open(), database.clock, scene.session_id)
    operator = Scene(database.open(), database.clock, scene.session_id)
    for number in range(12):
        scene.run(turn, f"{CHANGE}-{number}")
        claim = worker.start()
        now = database.clock.now()
        ends: list[Callable[[], object]] = [
            partial(execution_actions.finish, worker.store, claim, State.FAILED, now, exit_code=1),
            partial(execution_actions.cancel, operator.store, claim.execution_id, now, by="ada"),
            partial(session_actions.stop, operator.store, scene.session_id, now, with_executions=True, by="ada"),
        ]
        finished, cancelled, stopped = together(ends)
        assert not isinstance(finished, BaseException), finished
        assert isinstance(cancelled, Conflict | Execution), cancelled
        assert not isinstance(stopped, BaseException), stopped
        with scene.store.write(now) as tx:  # the stop is taken back, for the next round
            sessions.change(tx, scene.session_id, stop_requested=False)


def test_a_session_that_another_transaction_holds_is_passed_over(database: Database) -> None:
    if database.is_sqlite:
        return  # one writer at a time: nobody can hold a row
    store, other = database.open(), database.open()
    scenes = [Scene(store, database.clock).begin() for _ in range(2)]
    for scene in scenes:
        scene.say("hello")
        database.clock.advance(1)
    with store.write(database.clock.now()) as tx:
        sessions.lock(tx, scenes[0].session_id)
        turn = Scene(other, database.clock).turn()
        assert turn is not None
        assert turn.claim.session_id == scenes[1].session_id


def test_a_command_left_waiting_has_exactly_one_open_question(scene: Scene) -> None:
    scene.say("please")
    turn = scene.must_turn()
    for command in (CHANGE, DESTROY, READ):
        scene.run(turn, command)
    snapshot = scene.snapshot()
    waiting = [execution for execution in snapshot.executions if execution.state is State.WAITING]
    assert [execution.command for execution in waiting] == [CHANGE, DESTROY]
    assert [approval.execution_id for approval in scene.pending()] == [execution.id for execution in waiting]
    table = rows.approvals
    with scene.store.read() as connection:
        assert len(connection.execute(table.select()).all()) == 2


def test_the_count_of_continuations_bounds_the_machine_until_the_operator_extends(scene: Scene) -> None:
    limits = Limits(LIMITS.assent_minutes, 2)
    scene.plan_approved(CHANGE)
    turn = scene.turn(limits=limits)
    for _ in range(3):
        assert turn is not None
        block, execution = scene.run(turn, CHANGE)
        scene.answer(turn, block, execution)
        scene.end(turn)
        scene.carry_out()
        turn = scene.turn(limits=limits)
    assert turn is None
    assert scene.snapshot().session.state is SessionState.PARKED
    windows.extend(scene.store, scene.session_id, 30, scene.clock.moment(), by="ada")
    again = scene.turn(limits=limits)
    assert again is not None
    assert again.message.origin is Origin.CONTINUATION
