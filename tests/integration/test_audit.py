"""The audit on both engines: each change leaves its link, many writers make one chain, the database refuses changes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from nomos.actions import executions, hosts, users, windows
from nomos.clock import SettableClock
from nomos.domain.approvals import Verdict
from nomos.domain.audit import START, Deed, Kind, Who
from nomos.errors import Conflict
from nomos.store import audit
from nomos.store import hosts as host_rows
from nomos.store import users as user_rows
from nomos.store.engine import Store
from tests.harness.database import Database
from tests.harness.scene import CHANGE, HOST, READ, Scene
from tests.harness.threads import all_fine

ADA = Who(Kind.OPERATOR, "ada", "page", "192.168.1.20")


def told(store: Store, *deeds: Deed) -> list[dict[str, Any]]:
    """What the audit says of these deeds, all if none are named; the whole chain holds."""
    with store.read() as connection:
        assert audit.verify(connection) is None
        found = list(audit.entries(connection))
    return [json.loads(entry.content) for entry in found if not deeds or entry.deed in deeds]


def test_a_new_database_has_an_empty_chain_that_holds(store: Store) -> None:
    assert told(store) == []
    with store.read() as connection:
        assert audit.head(connection) == (0, START)


def test_people_and_tokens(store: Store, clock: SettableClock) -> None:
    acting = store.acting_for(lambda: ADA)
    users.add(acting, "bo", "hash", clock.now())
    with store.read() as connection:
        bo = user_rows.by_name(connection, "bo")
    assert bo is not None
    secret = users.sign_in(acting, bo, clock.now())
    users.sign_out(acting, secret, clock.now())
    users.sign_out(acting, secret, clock.now())  # ended before: nothing is done, nothing is said
    users.note_failed_sign_in(acting, "bo", clock.now())
    users.note_failed_sign_in(acting, "x" * 5000, clock.now())
    users.add_token(acting, "n8n", frozenset({"read"}), clock.now())
    entries = told(store)
    assert [(entry["deed"], entry["facts"].get("user")) for entry in entries] == [
        ("user_added", "bo"), ("signed_in", "bo"), ("signed_out", "bo"), ("sign_in_failed", "bo"),
        ("sign_in_failed", "x" * 64), ("token_added", None),
    ]  # fmt: skip
    first = entries[0]
    assert (first["who"], first["name"], first["route"], first["address"]) == (
        "operator", "ada", "page", "192.168.1.20",
    )  # fmt: skip
    assert entries[-1]["facts"] == {"token": "n8n", "scopes": ["read"]}
    assert "hash" not in json.dumps([entry["facts"] for entry in entries])


def test_hosts(store: Store, clock: SettableClock) -> None:
    host = hosts.add(store, "nas", "root@192.168.1.9:2222", clock.now())
    hosts.offer_key(store, host.id, "ssh-ed25519 AAAA", "SHA256:abc", clock.now())
    hosts.trust(store, host.id, "SHA256:abc", clock.now())
    hosts.note_facts(store, host.id, clock.now(), boot="b", job_base="/j", system="Linux", latency_ms=1.0)
    hosts.remove(store, host.id, clock.now())
    entries = told(store)
    assert [entry["deed"] for entry in entries] == ["host_added", "host_trusted", "host_removed"]
    assert entries[1]["facts"] == {
        "host": "nas", "address": "192.168.1.9", "port": 2222, "user": "root", "host_key": "SHA256:abc",
        "practice": False,
    }  # fmt: skip


def test_a_change_that_fails_leaves_nothing(store: Store, clock: SettableClock) -> None:
    users.add(store, "bo", "hash", clock.now())
    with pytest.raises(Conflict):
        users.add(store, "bo", "hash", clock.now())

    def fail() -> None:
        with store.write(clock.now()) as tx:
            host_rows.add(tx, name="nas", address="a", port=22, user="root")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert len(told(store)) == 1


def test_a_command_from_approval_to_end(scene: Scene, store: Store, clock: SettableClock) -> None:
    with store.read() as connection:
        host = host_rows.by_name(connection, HOST)
    assert host is not None
    hosts.offer_key(store, host.id, "ssh-ed25519 AAAA", "SHA256:abc", clock.now())
    hosts.trust(store, host.id, "SHA256:abc", clock.now())
    scene.say("please")
    turn = scene.must_turn()
    _, execution = scene.run(turn, CHANGE)
    scene.end(turn)
    (approval,) = scene.pending()
    scene.decide(approval)
    claim = scene.start()
    executions.cancel(store, execution.id, clock.now(), by="ada")
    executions.finish(store, claim, execution.state.SUCCEEDED, clock.now(), exit_code=0)
    (decided,) = told(store, Deed.APPROVAL_DECIDED)
    assert decided["session"] == scene.session_id
    assert decided["facts"] | {
        "verdict": "approved", "by": "ada", "route": "button", "command": CHANGE, "host": HOST,
        "digest": approval.digest, "risk": "change",
    } == decided["facts"]  # fmt: skip
    entries = told(store, Deed.EXECUTION_QUEUED, Deed.EXECUTION_STARTED, Deed.CANCEL_ASKED, Deed.EXECUTION_ENDED)
    assert [entry["deed"] for entry in entries] == [
        "execution_queued", "execution_started", "cancel_asked", "execution_ended",
    ]  # fmt: skip
    for entry in entries:
        facts = entry["facts"]
        assert (facts["execution"], facts["command"], facts["host"]) == (execution.id, CHANGE, HOST)
        assert (facts["host_key"], facts["user"], facts["digest"]) == ("SHA256:abc", "root", approval.digest)
        assert facts["rule"]
    ended = entries[-1]["facts"]
    assert (ended["state"], ended["exit"], ended["approval"]) == ("succeeded", 0, approval.id)
    assert ended["started"]
    assert ended["ended"]


def test_what_runs_unasked_is_told_too(scene: Scene, store: Store) -> None:
    scene.say("please")
    scene.run(scene.must_turn(), READ)
    scene.carry_out()
    entries = told(store, Deed.EXECUTION_QUEUED, Deed.EXECUTION_STARTED, Deed.EXECUTION_ENDED)
    assert [entry["facts"]["risk"] for entry in entries] == ["read"] * 3
    assert told(store, Deed.APPROVAL_DECIDED) == []


def test_a_plan_with_all_its_steps_and_the_life_of_a_window(scene: Scene, store: Store, clock: SettableClock) -> None:
    scene.plan_approved(CHANGE, "touch /srv/x")
    windows.extend(store, scene.session_id, 60, clock.moment(), by="ada")
    windows.revoke(store, scene.session_id, clock.moment())
    (decided,) = told(store, Deed.APPROVAL_DECIDED)
    assert [(step["command"], step["approved"]) for step in decided["facts"]["steps"]] == [
        (CHANGE, True), ("touch /srv/x", True),
    ]  # fmt: skip
    deeds = [Deed.WINDOW_OPENED, Deed.WINDOW_EXTENDED, Deed.WINDOW_REVOKED]
    assert [entry["deed"] for entry in told(store, *deeds)] == deeds
    assert told(store, Deed.WINDOW_REVOKED)[0]["facts"]["ended_why"] == "revoked"


def test_a_denial_is_told_with_the_operators_words(scene: Scene, store: Store) -> None:
    scene.say("please")
    turn = scene.must_turn()
    scene.run(turn, CHANGE)
    scene.end(turn)
    scene.decide(scene.pending()[0], Verdict.DENY)
    (decided,) = told(store, Deed.APPROVAL_DECIDED)
    assert decided["facts"]["verdict"] == "denied"


def test_input_is_told_but_not_a_secret(scene: Scene, store: Store, clock: SettableClock) -> None:
    scene.say("please")
    turn = scene.must_turn()
    _, execution = scene.run(turn, CHANGE)
    scene.end(turn)
    scene.decide(scene.pending()[0])
    claim = scene.start()
    executions.note_question(store, claim, "Continue? [Y/n]", clock.now())
    executions.answer(store, execution.id, "y", clock.now(), by="ada")
    executions.note_question(store, claim, "Password:", clock.now())
    executions.answer(store, execution.id, "hunter2", clock.now(), by="ada")
    given = told(store, Deed.INPUT_GIVEN)
    assert [(entry["facts"]["text"], entry["facts"]["secret"]) for entry in given] == [("y", False), (None, True)]


def test_many_writers_make_one_chain(database: Database, clock: SettableClock) -> None:
    stores = [database.open() for _ in range(4)]

    def write(number: int) -> None:
        for one in range(10):
            users.add_token(stores[number], f"t-{number}-{one}", frozenset({"read"}), clock.now())
            users.note_failed_sign_in(stores[number], "bo", clock.now())
            hosts.add(stores[number], f"h-{number}-{one}", "root@a", clock.now())

    all_fine([lambda number=number: write(number) for number in range(4)])  # type: ignore[misc]
    entries = told(stores[0])
    assert [entry["seq"] for entry in entries] == list(range(1, 121))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET deed = 'nothing' WHERE seq = 1",
        "UPDATE audit SET at = at",
        "DELETE FROM audit WHERE seq = 1",
        "DELETE FROM audit",
    ],
)
def test_the_database_refuses_to_change_or_remove(database: Database, clock: SettableClock, statement: str) -> None:
    store = database.open()
    users.add(store, "bo", "hash", clock.now())
    engine = database.engine()
    with pytest.raises(DBAPIError, match="append only"), engine.connect() as connection, connection.begin():
        connection.execute(text(statement))
    engine.dispose()
    assert len(told(store)) == 1


def test_nor_can_a_row_be_put_in_the_place_of_another(database: Database, clock: SettableClock) -> None:
    store = database.open()
    users.add(store, "bo", "hash", clock.now())
    engine = database.engine()
    replace = "INSERT OR REPLACE INTO audit SELECT * FROM audit" if database.is_sqlite else "TRUNCATE audit"
    with pytest.raises(DBAPIError, match="append only"), engine.connect() as connection, connection.begin():
        connection.execute(text(replace))
    engine.dispose()
    assert len(told(store)) == 1


@pytest.mark.parametrize(
    ("damage", "where"),
    [
        ("UPDATE audit SET content = replace(content, 'bo-2', 'eve') WHERE seq = 2", 2),
        ("UPDATE audit SET session_id = 'x' WHERE seq = 3", 3),
        ("UPDATE audit SET hash = previous WHERE seq = 1", 1),
        ("DELETE FROM audit WHERE seq = 2", 2),
        ("DELETE FROM audit WHERE seq = 3", 3),
        ("UPDATE audit_head SET seq = 2", 2),
    ],
)
def test_verify_says_where_it_is_broken_once_somebody_got_round_the_lock(
    database: Database, clock: SettableClock, damage: str, where: int
) -> None:
    store = database.open()
    for name in ("bo-1", "bo-2", "bo-3"):
        users.add(store, name, "hash", clock.now())
    engine = database.engine()
    with engine.connect() as connection, connection.begin():
        if database.is_sqlite:
            for lock in ("update", "delete"):
                connection.execute(text(f"DROP TRIGGER audit_refuses_{lock}"))
        else:
            connection.execute(text("DROP TRIGGER audit_refuses ON audit"))
        connection.execute(text(damage))
    engine.dispose()
    with store.read() as connection:
        found = audit.verify(connection)
    assert found is not None
    assert found.seq == where


def test_a_chain_that_was_written_anew_does_not_have_the_end_that_was_noted(store: Store, clock: SettableClock) -> None:
    users.add(store, "bo", "hash", clock.now())
    with store.read() as connection:
        seq, hash_ = audit.head(connection)
        assert audit.verify(connection, known=(seq, hash_)) is None
        anew = audit.verify(connection, known=(seq, "0" * 64))
        shorter = audit.verify(connection, known=(seq + 3, hash_))
    assert anew is not None
    assert anew.seq == seq
    assert shorter is not None
