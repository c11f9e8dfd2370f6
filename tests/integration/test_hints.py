"""Hints: they arrive at once, and one that does not costs latency only."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomos.store.engine import Store
from nomos.store.hints import SocketHints, Wakeup
from tests.harness.database import Database
from tests.harness.scene import Scene
from tests.harness.wait import wait_for


class Listener:
    """A thread that waits for hints."""

    def __init__(self, store: Store) -> None:
        self.wakeup = Wakeup()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=lambda: store.hints.listen(self.wakeup.set, self._ended))
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()


@pytest.fixture
def listener(database: Database) -> Iterator[Listener]:
    """A listener that hears."""
    store = database.open(hints=True)
    listener = Listener(store)

    def heard() -> bool:
        store.hints.send()
        return listener.wakeup.count > 0

    wait_for(heard, 20, "the listener")
    yield listener
    listener.end()


def test_each_commit_of_another_process_is_heard(database: Database, listener: Listener) -> None:
    other = Scene(database.open(hints=True), database.clock).begin()
    for number in range(10):
        seen = listener.wakeup.count
        other.say(f"message {number}")
        assert listener.wakeup.wait(seen, 10.0) > seen


def test_what_changes_nothing_gives_no_hint(database: Database, listener: Listener) -> None:
    other = Scene(database.open(hints=True), database.clock).begin()
    other.say("hello", client_id="c")
    wait_for(lambda: listener.wakeup.count >= 2, 10, "the hints so far")
    seen = wait_for(lambda: listener.wakeup.wait(listener.wakeup.count, 0.3), 10, "silence")
    other.say("hello", client_id="c")
    assert listener.wakeup.wait(seen, 0.3) == seen


def test_a_burst_is_never_waited_for(database: Database, listener: Listener) -> None:
    hints = database.open(hints=True).hints
    began = time.monotonic()
    for _ in range(300):
        hints.send()
    assert time.monotonic() - began < 30
    seen = listener.wakeup.count
    hints.send()
    wait_for(lambda: listener.wakeup.count > seen, 20, "a hint after the burst")


def test_a_socket_that_was_swept_away_is_bound_again(tmp_path: Path) -> None:
    hints, wakeup, ended = SocketHints(tmp_path / "hints"), Wakeup(), threading.Event()
    thread = threading.Thread(target=lambda: hints.listen(wakeup.set, ended))
    thread.start()
    (path,) = wait_for(lambda: list((tmp_path / "hints").glob("*")), 10, "the socket")
    path.unlink()

    def heard() -> bool:
        hints.send()
        return wakeup.count > 0

    wait_for(heard, 20, "a hint over the new socket")
    ended.set()
    thread.join()
    assert list((tmp_path / "hints").iterdir()) == []


def test_the_socket_of_a_dead_process_is_cleared_away(tmp_path: Path) -> None:
    folder = tmp_path / "hints"
    folder.mkdir()
    (folder / "1-dead").touch()
    SocketHints(folder).send()
    assert list(folder.iterdir()) == []


def test_sending_never_fails(tmp_path: Path) -> None:
    SocketHints(tmp_path / "there is no such folder").send()
    (tmp_path / "file").touch()
    SocketHints(tmp_path / "file").send()


def test_a_commit_stands_even_if_nobody_can_be_told(database: Database) -> None:
    store = database.open(hints=True)
    scene = Scene(store, database.clock).begin()
    (database.folder / "hints").mkdir(exist_ok=True)
    (database.folder / "hints" / "gone").touch()
    scene.say("hello")
    assert len(scene.snapshot().messages) == 1
