"""The store on both engines: what goes in comes out, whole or not at all."""

from __future__ import annotations

import itertools
from datetime import timedelta

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

from nomos.actions import executions as execution_actions
from nomos.actions import hosts as host_actions
from nomos.actions import messages as message_actions
from nomos.actions import sessions as session_actions
from nomos.actions import users as user_actions
from nomos.clock import SettableClock
from nomos.domain.executions import State, may_become
from nomos.domain.hosts import HostState
from nomos.domain.messages import TRANSITIONS, BlockKind, MessageStatus, Origin, Role
from nomos.domain.plans import PlanState
from nomos.domain.sessions import Ending, SessionState
from nomos.errors import ClientIdReused, Conflict, InvalidInput, NotFound
from nomos.store import executions, hosts, journal, messages, plans, rows, sessions, users
from nomos.store.engine import Store
from tests.harness.database import Database
from tests.harness.scene import CHANGE, HOST, READ, Scene, call, reply
from tests.harness.scene import text as words
from tests.harness.threads import all_fine, together

WILD = "a\x00b\ud800c 😀 \u202e\r\n"
TAMED = "a\ufffdb\ufffdc 😀 \u202e\r\n"


def seq(store: Store) -> int:
    with store.read() as connection:
        return journal.head(connection).seq


def test_a_whole_story(scene: Scene) -> None:
    scene.say("restart the web server")
    turn = scene.must_turn()
    block, execution = scene.run(turn, CHANGE)
    assert execution.state is State.WAITING
    assert (scene.answer(turn, block, execution) or "").endswith("waits for approval")
    scene.end(turn)
    assert scene.snapshot().session.state is SessionState.WAITING
    scene.decide(scene.pending()[0])
    assert scene.snapshot().session.state is SessionState.WORKING
    scene.carry_out()
    turn = scene.must_turn()
    assert turn.message.origin is Origin.CONTINUATION
    scene.accept(turn, reply(words("It runs again.")))
    scene.end(turn, ending=Ending.VERIFIED)
    snapshot = scene.snapshot()
    assert snapshot.session.state is SessionState.DONE
    assert [message.role for message in snapshot.messages] == [Role.OPERATOR, Role.AGENT, Role.EVENT, Role.AGENT]
    assert snapshot.executions[0].continued_at is not None
    assert snapshot.window is not None
    assert scene.turn() is None


def test_text_that_no_engine_can_store_is_tamed_everywhere(scene: Scene) -> None:
    assert scene.say(WILD).text == TAMED
    turn = scene.must_turn()
    thinking = {"type": "thinking", "thinking": WILD, "signature": "x"}
    tool = call("run" + WILD * 30, reason=WILD)
    (block,) = scene.accept(turn, reply(thinking, words(WILD), tool), nudge=WILD)
    assert block.name == "run" + TAMED * 30
    scene.end(turn, MessageStatus.FAILED, Ending.FAILED, notice=WILD)
    host = host_actions.note_fault(scene.store, hosts_id(scene), HostState.UNREACHABLE, WILD, scene.clock.now())
    assert host.detail == TAMED
    shown = scene.snapshot().messages[-1]
    assert [part.text for part in shown.blocks if part.kind is not BlockKind.TOOL_CALL] == [TAMED, TAMED, TAMED]


def hosts_id(scene: Scene) -> str:
    with scene.store.read() as connection:
        host = hosts.by_name(connection, HOST)
    assert host is not None
    return host.id


@pytest.mark.parametrize("command", ["rm a\x00b", "rm a\ud800"])
def test_a_command_that_cannot_be_shown_as_it_is_is_refused(scene: Scene, command: str) -> None:
    scene.say("go")
    turn = scene.must_turn()
    (block,) = scene.accept(turn, reply(call(host=HOST, command=command)))
    before = seq(scene.store)
    with pytest.raises(InvalidInput, match="Nothing was run"):
        execution_actions.request(
            scene.store, turn.claim, turn.message.id, block.id, scene.clock.moment(), host=HOST, command=command,
            reason="x", asynchronous=False,
        )  # fmt: skip
    assert seq(scene.store) == before


def test_what_fails_half_way_leaves_nothing(scene: Scene) -> None:
    before, seq_before = scene.snapshot(), seq(scene.store)

    def half() -> None:
        with scene.store.write(scene.clock.now()) as tx:
            messages.add(tx, scene.session_id, Role.OPERATOR, Origin.OPERATOR, text="lost")
            sessions.change(tx, scene.session_id, title="lost")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert scene.snapshot() == before
    assert seq(scene.store) == seq_before
    scene.say("kept")
    with scene.store.read() as connection:
        seqs = [entry.seq for entry in journal.after(connection, 0, 1000)]
    assert seqs == list(range(1, len(seqs) + 1))


def test_a_read_sees_one_instant(database: Database, scene: Scene) -> None:
    other = Scene(database.open(), database.clock, scene.session_id)
    with scene.store.read() as connection:
        first = journal.head(connection).seq, len(messages.page(connection, scene.session_id))
        other.say("meanwhile")
        assert (journal.head(connection).seq, len(messages.page(connection, scene.session_id))) == first
    assert len(scene.snapshot().messages) == 1


def test_times_come_back_as_they_went_in(scene: Scene) -> None:
    scene.clock.advance(0.123456)
    message = scene.say("now")
    assert message.created_at == scene.clock.now()
    with scene.store.read() as connection:
        assert messages.get(connection, message.id).created_at == scene.clock.now()
        assert messages.get(connection, message.id).created_at.utcoffset() == timedelta(0)


def test_the_same_message_again_changes_nothing(scene: Scene) -> None:
    first = scene.say("hello", client_id="c1")
    before = seq(scene.store)
    assert scene.say("hello", client_id="c1") == first
    with pytest.raises(ClientIdReused):
        scene.say("hello!", client_id="c1")
    assert seq(scene.store) == before


def test_the_same_message_from_eight_tabs_is_one_message(database: Database, scene: Scene) -> None:
    tabs = [Scene(database.open(), database.clock, scene.session_id) for _ in range(8)]
    sent = all_fine([lambda tab=tab: tab.say("hello", client_id="c1") for tab in tabs])  # type: ignore[misc]
    assert len({message.id for message in sent}) == 1
    assert len(scene.snapshot().messages) == 1


def test_an_execution_moves_only_along_drawn_arrows(scene: Scene) -> None:
    scene.say("look")
    _, execution = scene.run(scene.must_turn(), READ)
    table = rows.executions
    for state, after in itertools.product(State, State):
        with scene.store.write(scene.clock.now()) as tx:
            tx.c.execute(table.update().where(table.c.id == execution.id).values(state=state))
            if may_become(state, after):
                assert executions.change(tx, execution.id, state=after).state is after
            else:
                with pytest.raises(Conflict):
                    executions.change(tx, execution.id, state=after)


def test_a_message_moves_only_along_drawn_arrows(scene: Scene) -> None:
    scene.say("look")
    message_id = scene.must_turn().message.id
    table = rows.messages
    for status, after in itertools.product(MessageStatus, MessageStatus):
        with scene.store.write(scene.clock.now()) as tx:
            tx.c.execute(table.update().where(table.c.id == message_id).values(status=status))
            if after in TRANSITIONS[status]:
                messages.set_status(tx, message_id, after)
                assert messages.get(tx.c, message_id).status is after
            else:
                with pytest.raises(Conflict):
                    messages.set_status(tx, message_id, after)


def test_a_plan_that_was_denied_stays_so(scene: Scene) -> None:
    plan = scene.plan_approved(CHANGE)
    with scene.store.write(scene.clock.now()) as tx:
        plans.set_state(tx, plan.id, PlanState.WITHDRAWN)
    with pytest.raises(Conflict), scene.store.write(scene.clock.now()) as tx:
        plans.set_state(tx, plan.id, PlanState.APPROVED)


def test_the_latest_plan_is_the_one_proposed_last_whatever_the_clock_says(scene: Scene) -> None:
    scene.say("please")
    turn = scene.must_turn()
    scene.propose(turn, CHANGE)
    scene.clock.step(-3600)
    later = scene.propose(turn, CHANGE)
    assert scene.snapshot().plan == later
    assert [approval.state for approval in scene.snapshot().approvals] == ["withdrawn", "pending"]


def test_executions_stand_in_the_order_they_were_asked_for(scene: Scene) -> None:
    scene.say("look")
    turn = scene.must_turn()
    asked = []
    for _ in range(5):
        asked.append(scene.run(turn, READ)[1].id)
        scene.clock.step(-60)
    assert [execution.id for execution in scene.snapshot().executions] == asked


def test_two_open_turns_of_a_session_cannot_be_stored(scene: Scene) -> None:
    scene.say("look")
    scene.must_turn()
    with pytest.raises(IntegrityError), scene.store.write(scene.clock.now()) as tx:
        messages.add(tx, scene.session_id, Role.AGENT, Origin.OPERATOR)


def test_one_call_cannot_start_two_commands(scene: Scene) -> None:
    scene.say("look")
    turn = scene.must_turn()
    block, execution = scene.run(turn, READ)
    again = execution_actions.request(
        scene.store, turn.claim, turn.message.id, block.id, scene.clock.moment(), host=HOST, command=READ,
        reason="again", asynchronous=False,
    )  # fmt: skip
    assert again == execution
    with scene.store.read() as connection:
        copy = connection.execute(select(rows.executions)).one()._asdict() | {"id": "another"}
    with pytest.raises(IntegrityError), scene.store.write(scene.clock.now()) as tx:
        tx.c.execute(rows.executions.insert().values(**copy))


def test_what_there_is_not_is_not_found(scene: Scene) -> None:
    with scene.store.read() as connection:
        for look in (sessions.get, messages.get, messages.get_block, executions.get, plans.get, hosts.get):
            with pytest.raises(NotFound):
                look(connection, "0" * 36)
    with pytest.raises(NotFound):
        message_actions.send(
            scene.store, "0" * 36, "c", "hi", scene.clock.moment(), by="ada", minutes=30, may_decide=True
        )  # fmt: skip


def test_a_thing_touched_and_removed_in_one_change_is_told_as_gone(scene: Scene) -> None:
    scene.say("look")
    turn = scene.must_turn()
    with scene.store.write(scene.clock.now()) as tx:
        block = messages.add_block(tx, turn.message.id, BlockKind.TEXT, text="brief")
        messages.remove_blocks(tx, scene.session_id, [block])
    with scene.store.read() as connection:
        last = journal.after(connection, journal.head(connection).seq - 1, 10)[-1]
    assert (last.about, last.data["removed"]) == (block.id, True)


def test_a_blank_title_counts_as_none(store: Store, clock: SettableClock) -> None:
    assert session_actions.open_session(store, "  \n", clock.now()).title == session_actions.UNTITLED
    assert session_actions.open_session(store, " mine \nrest", clock.now()).title == "mine"
    session = session_actions.open_session(store, "x", clock.now())
    with pytest.raises(InvalidInput):
        session_actions.change(store, session.id, clock.now(), title=" ", archived=None)


def test_only_one_of_eight_becomes_the_first_operator(database: Database) -> None:
    stores = [database.open() for _ in range(8)]
    results = together(
        [lambda s=s, n=n: user_actions.add_first(s, f"op{n}", "hash", database.clock.now())  # type: ignore[misc]
         for n, s in enumerate(stores)]
    )  # fmt: skip
    assert sum(1 for result in results if isinstance(result, users.User)) == 1
    assert all(isinstance(result, users.User | Conflict) for result in results)
    with stores[0].read() as connection:
        assert users.count(connection) == 1


def test_a_name_is_given_once_even_to_two_at_once(database: Database) -> None:
    stores = [database.open() for _ in range(6)]
    now = database.clock.now()
    added = together([lambda s=s: user_actions.add(s, "ada", "hash", now) for s in stores])  # type: ignore[misc]
    assert sorted(type(result).__name__ for result in added) == ["Conflict"] * 5 + ["User"]
    hosted = together([lambda s=s: host_actions.add(s, "nas", "root@nas", now) for s in stores])  # type: ignore[misc]
    assert sorted(type(result).__name__ for result in hosted) == ["Conflict"] * 5 + ["Host"]


def test_writes_after_a_consistent_read_are_ordinary_ones(scene: Scene) -> None:
    for number in range(20):  # more than the pool holds, so connections are used for both
        scene.snapshot()
        scene.say(f"message {number}")
    assert scene.store.checked_out == 0


def test_the_settings_of_the_connection(store: Store, database: Database) -> None:
    with store.read() as connection:
        if database.is_sqlite:
            pragmas = {name: connection.execute(text(f"PRAGMA {name}")).scalar_one()
                       for name in ("journal_mode", "synchronous", "foreign_keys")}  # fmt: skip
            assert pragmas == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
        else:
            assert connection.execute(text("SHOW transaction_isolation")).scalar_one() == "repeatable read"
            assert connection.execute(text("SHOW statement_timeout")).scalar_one() == "15s"
    with store.write(database.clock.now()) as tx:
        if not database.is_sqlite:
            assert tx.c.execute(text("SHOW transaction_isolation")).scalar_one() == "read committed"
