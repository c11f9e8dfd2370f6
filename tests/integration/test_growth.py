"""Growth: however many streams run, a worker commits at most 20 times a second, and nothing is lost or out of order."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import event

from nomos.actions import turns
from nomos.actions.growth import SHORTEST_PAUSE, Gatherer
from nomos.actions.turns import Turn
from nomos.domain.messages import Block, BlockKind
from nomos.errors import ClaimLost
from nomos.store import executions, journal, messages, output
from nomos.store.engine import Store
from tests.harness.database import Database, NoHints
from tests.harness.scene import LEASE, READ, Scene, reply, text
from tests.harness.wait import wait_for

CAP = 10_000


@pytest.fixture
def gatherer(scene: Scene) -> Iterator[Gatherer]:
    """A gatherer that runs."""
    gatherer = Gatherer(scene.store, scene.clock, CAP)
    thread = threading.Thread(target=gatherer.run)
    thread.start()
    yield gatherer
    gatherer.close()
    thread.join()


def block_of(scene: Scene, turn: Turn) -> Block:
    step = scene.steps.get(turn.message.id, 0)
    return turns.open_block(scene.store, turn.claim, turn.message.id, BlockKind.TEXT, step, scene.clock.now())


def stored_text(store: Store, block: Block) -> str:
    with store.read() as connection:
        return messages.get_block(connection, block.id).text


def test_many_streams_make_few_commits_and_keep_their_order(scene: Scene, gatherer: Gatherer) -> None:
    scenes = [Scene(scene.store, scene.clock).begin() for _ in range(6)]
    places = []
    for each in scenes:
        each.say("hello")
        turn = each.must_turn()
        places.append((turn.claim, block_of(each, turn)))
    with scene.store.read() as connection:
        before = journal.head(connection).seq
    began = time.monotonic()
    for number in range(100):
        for claim, block in places:
            gatherer.text(claim, block.id, f"{number},")
        if number % 10 == 0:
            wait_for(lambda n=number: stored_text(scene.store, places[-1][1]).endswith(f"{n},"), 30, "the pieces")  # type: ignore[misc]
    gatherer.flush()
    took = time.monotonic() - began
    whole = "".join(f"{number}," for number in range(100))
    assert {stored_text(scene.store, block) for _, block in places} == {whole}
    with scene.store.read() as connection:
        entries = journal.after(connection, before, 10_000)
    for _, block in places:
        mine = [entry.data for entry in entries if entry.about == block.id]
        assert "".join(data["text"] for data in mine) == whole
        assert [data["offset"] for data in mine] == [
            len("".join(d["text"] for d in mine[:n])) for n in range(len(mine))
        ]
        assert len(mine) <= took / SHORTEST_PAUSE + 2


def test_a_lost_claim_is_told_to_the_producer(scene: Scene, gatherer: Gatherer) -> None:
    scene.say("hello")
    turn = scene.must_turn()
    block = block_of(scene, turn)
    scene.clock.advance(LEASE + 1)
    assert scene.turn("worker-2") is not None
    gatherer.text(turn.claim, block.id, "late")
    gatherer.flush()
    with pytest.raises(ClaimLost):
        gatherer.text(turn.claim, block.id, "later")
    assert stored_text(scene.store, block) == ""


def test_one_lost_claim_costs_the_others_nothing(scene: Scene, gatherer: Gatherer) -> None:
    scene.say("look")
    turn = scene.must_turn()
    scene.run(turn, READ)
    lost = scene.start()
    block = block_of(scene, turn)
    with scene.store.write(scene.clock.now()) as tx:
        executions.release(tx, lost)
    gatherer.text(turn.claim, block.id, "kept")
    gatherer.output(lost, b"thrown away", 0)
    gatherer.flush()
    assert stored_text(scene.store, block) == "kept"
    with pytest.raises(ClaimLost):
        gatherer.output(lost, b"more", 11)
    assert scene.snapshot().outputs == ()


def test_pieces_for_a_block_that_was_taken_back_are_dropped(scene: Scene, gatherer: Gatherer) -> None:
    scene.say("hello")
    turn = scene.must_turn()
    block = block_of(scene, turn)
    turns.discard(scene.store, turn.claim, turn.message.id, 0, scene.clock.now())
    gatherer.text(turn.claim, block.id, "words of an attempt that failed")
    gatherer.flush()
    assert scene.snapshot().messages[-1].blocks == ()


def test_what_could_not_be_committed_goes_with_the_next_commit(database: Database) -> None:
    engine = database.engine()
    store = Store(engine, NoHints())
    store.prepare(database.clock.now())
    scene = Scene(store, database.clock).begin()
    scene.say("look")
    turn = scene.must_turn()
    scene.run(turn, READ)
    claim = scene.start()
    block = block_of(scene, turn)
    gatherer = Gatherer(store, scene.clock, CAP)
    broken = True

    def fail(*_: object) -> None:
        if broken:
            raise ConnectionResetError("the database went away")

    event.listen(engine, "before_cursor_execute", fail)
    gatherer.text(turn.claim, block.id, "one ")
    gatherer.output(claim, b"a", 1)
    with pytest.raises(ConnectionResetError):
        gatherer.flush()
    broken = False
    gatherer.text(turn.claim, block.id, "two")
    gatherer.output(claim, b"b", 1)
    gatherer.flush()
    assert stored_text(store, block) == "one two"
    assert [part.text for part in scene.snapshot().outputs] == ["ab"]
    store.close()


@pytest.mark.parametrize("size", [7, 100])
def test_of_too_long_an_output_head_and_tail_are_kept(scene: Scene, gatherer: Gatherer, size: int) -> None:
    scene.say("look")
    _, execution = scene.run(scene.must_turn(), READ)
    claim = scene.start()
    whole = "".join(f"line {number} é\n" for number in range(4000)).encode()
    for start in range(0, len(whole) if size > 7 else 700, size):
        gatherer.output(claim, whole[start : start + size], start)
        if start % (size * 8) == 0:
            gatherer.flush()
    gatherer.flush()
    (now,) = scene.snapshot().executions
    assert now.output_bytes == now.host_bytes == (len(whole) if size > 7 else 700)
    assert now.truncated is (size > 7)
    with scene.store.read() as connection:
        head = output.read(connection, execution.id, 0, 1000)
        tail = output.tail(connection, now, 1000)
    assert head == (0, whole[:1000] if size > 7 else whole[:700])
    assert whole[: now.output_bytes].decode("utf-8", "replace").endswith(tail.text[-400:])


def test_output_that_is_no_text_is_kept_byte_for_byte(scene: Scene, gatherer: Gatherer) -> None:
    scene.say("look")
    _, execution = scene.run(scene.must_turn(), READ)
    claim = scene.start()
    raw = bytes(range(256)) * 3
    gatherer.output(claim, raw, 0)
    gatherer.flush()
    with scene.store.read() as connection:
        assert output.read(connection, execution.id) == (0, raw)
    assert "\ufffd" in scene.snapshot().outputs[0].text
    scene.snapshot().outputs[0].text.encode("utf-8")


def test_closing_commits_what_was_left(scene: Scene) -> None:
    scene.say("hello")
    turn = scene.must_turn()
    block = block_of(scene, turn)
    gatherer = Gatherer(scene.store, scene.clock, CAP)
    gatherer.text(turn.claim, block.id, "last words")
    gatherer.close()
    gatherer.run()
    assert stored_text(scene.store, block) == "last words"
    scene.accept(turn, reply(text("last words")))
