"""The journal on both engines: every change, in commit order, and nothing is missed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path

from sqlalchemy import Connection, select, text

from nomos.actions import executions, turns
from nomos.actions import sessions as session_actions
from nomos.actions.growth import Batch, commit
from nomos.domain.events import GROWING, Entry, Type
from nomos.domain.executions import State
from nomos.domain.messages import BlockKind, MessageStatus
from nomos.store import journal, rows
from nomos.store.engine import Store
from tests.harness.database import Database
from tests.harness.scene import READ, Scene, reply
from tests.harness.scene import text as words
from tests.harness.threads import all_fine
from tests.harness.wait import wait_for

WRITERS = 8
CHANGES = 12
ROOT = Path(__file__).parents[2]


def everything(store: Store) -> tuple[Entry, ...]:
    with store.read() as connection:
        return journal.after(connection, 0, 100_000)


class Tail:
    """A reader that follows the journal as the feed does, as fast as it can, in a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ended = threading.Event()
        self.seen: list[int] = []
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        cursor = 0
        while True:
            last = self._ended.is_set()
            with self._store.read() as connection:
                entries = journal.after(connection, cursor, 50)
            self.seen.extend(entry.seq for entry in entries)
            cursor = self.seen[-1] if self.seen else 0
            if last and not entries:
                return

    def end(self) -> list[int]:
        self._ended.set()
        self._thread.join()
        return self.seen


def test_a_tailing_reader_misses_nothing_of_eight_writers(database: Database) -> None:
    tail = Tail(database.open())

    def write(scene: Scene) -> None:
        scene.begin()
        for number in range(CHANGES):
            scene.say(f"message {number}")

    Scene(database.open(), database.clock).begin()
    # SQLite's writers are the threads of two processes; PostgreSQL's may be as many processes as they like.
    stores = [database.open() for _ in range(2 if database.is_sqlite else WRITERS)]
    all_fine([lambda n=n: write(Scene(stores[n % len(stores)], database.clock)) for n in range(WRITERS)])  # type: ignore[misc]
    seen = tail.end()
    entries = everything(database.open())
    assert len(entries) > WRITERS * CHANGES
    assert seen == [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    for session_id in {entry.session_id for entry in entries if entry.session_id}:
        said = [entry.data["position"] for entry in entries
                if entry.session_id == session_id and entry.type is Type.MESSAGE_CHANGED]  # fmt: skip
        assert said == sorted(said)


def test_an_entry_carries_the_state_that_the_change_left(scene: Scene) -> None:
    scene.say("a title")
    entries = everything(scene.store)
    last = {entry.type: entry.data for entry in entries}
    snapshot = scene.snapshot()
    assert last[Type.SESSION_CHANGED]["title"] == snapshot.session.title == "a title"
    assert last[Type.SESSION_CHANGED]["state"] == snapshot.session.state == "working"
    assert last[Type.MESSAGE_CHANGED]["blocks"][0]["text"] == "a title"


def test_a_change_that_changes_nothing_leaves_no_entry(scene: Scene) -> None:
    scene.say("hello", client_id="c")
    before = len(everything(scene.store))
    scene.say("hello", client_id="c")
    assert scene.take() is None
    assert len(everything(scene.store)) == before


def grown(scene: Scene) -> tuple[str, str]:
    """A turn whose text and whose command's output grew piece by piece. Returns both ids."""
    scene.say("look")
    turn = scene.must_turn()
    block = turns.open_block(scene.store, turn.claim, turn.message.id, BlockKind.TEXT, 0, scene.clock.now())
    for piece in ("one ", "two"):
        commit(scene.store, Batch(texts={(turn.claim, block.id): [piece]}), scene.clock, 10_000)
    turns.discard(scene.store, turn.claim, turn.message.id, 0, scene.clock.now())
    _, execution = scene.run(turn, READ)
    claim = scene.start()
    commit(scene.store, Batch(outputs={claim: [(b"up 3 days", 9)]}), scene.clock, 10_000)
    executions.finish(scene.store, claim, State.SUCCEEDED, scene.clock.now(), exit_code=0)
    scene.accept(turn, reply(words("done")))
    scene.end(turn, MessageStatus.DONE)
    return block.id, execution.id


def growth(connection: Connection, about: tuple[str, ...]) -> list[int]:
    """The numbers of the pieces of text and output that the journal keeps of these things."""
    kept = journal.after(connection, 0, 1000)
    return [entry.seq for entry in kept if entry.about in about and entry.type in GROWING]


def test_growth_goes_once_its_thing_has_ended_and_the_floor_tells(scene: Scene) -> None:
    ids = grown(scene)
    with scene.store.read() as connection:
        pieces = growth(connection, ids)
    assert len(pieces) == 3
    with scene.store.write(scene.clock.now()) as tx:
        assert journal.prune_growth(tx, scene.clock.now()) == 0, "it is not old yet"
    scene.clock.advance(1)
    with scene.store.write(scene.clock.now()) as tx:
        assert journal.prune_growth(tx, scene.clock.now()) == 3
    with scene.store.read() as connection:
        assert growth(connection, ids) == []
        assert journal.head(connection).floor == max(pieces)
    with scene.store.write(scene.clock.now()) as tx:
        assert journal.prune_all(tx, scene.clock.now() - timedelta(days=1)) == 0
        assert journal.head(tx.c).floor == max(pieces)


def test_what_still_grows_is_kept(scene: Scene) -> None:
    scene.say("look")
    turn = scene.must_turn()
    scene.run(turn, READ)
    claim = scene.start()
    commit(scene.store, Batch(outputs={claim: [(b"up", 2)]}), scene.clock, 10_000)
    scene.clock.advance(10_000)
    with scene.store.write(scene.clock.now()) as tx:
        assert journal.prune_growth(tx, scene.clock.now()) == 0


def test_the_floor_never_passes_what_is_still_written(database: Database, scene: Scene) -> None:
    """Whatever is pruned while others write: each number above the floor is there."""
    ended = threading.Event()
    keeper = database.open()

    def prune() -> None:
        while not ended.is_set():
            with keeper.write(database.clock.now()) as tx:
                journal.prune_growth(tx, database.clock.now() + timedelta(seconds=1))

    thread = threading.Thread(target=prune)
    thread.start()
    try:
        for _ in range(3):
            grown(scene)
    finally:
        ended.set()
        thread.join()
    with scene.store.read() as connection:
        head = journal.head(connection)
        kept = list(connection.execute(select(rows.journal.c.seq).where(rows.journal.c.seq > head.floor)).scalars())
    assert sorted(kept) == list(range(head.floor + 1, head.seq + 1))


_WRITER = """
import sys
from pathlib import Path
from tests.harness.database import Database
from tests.harness.scene import Scene, reply, text, READ
database = Database(sys.argv[1], Path(sys.argv[2]))
scene = Scene(database.open(), database.clock).begin()
print("begun", flush=True)
while True:
    scene.say("look")
    turn = scene.must_turn()
    block, execution = scene.run(turn, READ)
    scene.answer(turn, block, execution)
    scene.accept(turn, reply(text("so it is")))
    scene.end(turn)
    print(scene.session_id, flush=True)
"""


def test_killed_writers_leave_whole_changes_and_no_gap(database: Database) -> None:
    Scene(database.open(), database.clock).begin()
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    writers = [
        subprocess.Popen([sys.executable, "-c", _WRITER, database.url, str(database.folder)], cwd=ROOT, env=environment,
                         stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(2)
    ]  # fmt: skip
    store = database.open()
    try:
        wait_for(lambda: len(everything(store)) > 150, 60, "enough changes of both")
    finally:
        for writer in writers:
            os.killpg(writer.pid, signal.SIGKILL)
        for writer in writers:
            writer.communicate()
    entries = everything(database.open())
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    with store.read() as connection:
        assert journal.head(connection).seq == len(entries)
        if database.is_sqlite:
            assert connection.execute(text("PRAGMA integrity_check")).scalar_one() == "ok"
            assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
        kept = select(rows.messages.c.id).where(rows.messages.c.id.not_in(select(rows.blocks.c.message_id)))
        blank = connection.execute(kept.where(rows.messages.c.role != "agent")).all()
        told = {entry.about for entry in entries if entry.type is Type.EXECUTION_CHANGED}
        stored = set(connection.execute(select(rows.executions.c.id)).scalars())
    assert blank == []
    assert told == stored
    began = time.monotonic()
    Scene(database.open(), database.clock).begin()
    assert time.monotonic() - began < 5, "a dead writer must not keep the others out"


def test_renaming_tells_everybody(scene: Scene) -> None:
    session_actions.change(scene.store, scene.session_id, scene.clock.now(), title="mine", archived=True)
    last = everything(scene.store)[-1]
    assert (last.type, last.data["title"], last.data["archived"]) == (Type.SESSION_CHANGED, "mine", True)
