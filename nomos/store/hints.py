"""The hint after a commit: "look at the journal". A lost hint costs latency and nothing else.

SQLite: an empty datagram on Unix sockets in the data folder. PostgreSQL: NOTIFY, in its own small transaction. Either
way a waiter also looks by itself at least once a second.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import psycopg
from sqlalchemy import Engine, text
from sqlalchemy.exc import SQLAlchemyError

CHANNEL = "nomos"


class Hints(Protocol):
    """Sends hints to all processes of this Nomos, and receives them."""

    def send(self) -> None:
        """Tell every listener that something was committed. Never raises, never waits."""
        ...

    def listen(self, on_hint: Callable[[], None], ended: threading.Event) -> None:
        """Call ``on_hint`` for each hint (several may be one) until ``ended`` is set. Blocks; run it in a thread."""
        ...


class SocketHints:
    """Datagrams between processes of one machine. ``folder`` holds one socket a listener."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def send(self) -> None:
        # What was committed stays committed: a folder that just went, or too many open files, costs the hint only.
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            for path in self._folder.iterdir():
                try:
                    sender.sendto(b"", str(path))
                except (BlockingIOError, PermissionError):
                    continue  # its queue is full: it will look anyway
                except OSError:
                    path.unlink(missing_ok=True)  # its process is gone

    def listen(self, on_hint: Callable[[], None], ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                self._hear(on_hint, ended)
            except OSError:
                ended.wait(1.0)  # no room for the socket: whoever waits looks by itself meanwhile

    def _hear(self, on_hint: Callable[[], None], ended: threading.Event) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._folder / f"{os.getpid()}-{secrets.token_hex(4)}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind(str(path))
            receiver.settimeout(0.5)
            try:
                while not ended.is_set():
                    try:
                        receiver.recv(16)
                    except TimeoutError:
                        if not path.exists():
                            return  # swept away by a sender: bind again
                        continue
                    on_hint()
            finally:
                path.unlink(missing_ok=True)


class PostgresHints:
    """LISTEN and NOTIFY. The listener holds one connection of its own, outside the pool."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def send(self) -> None:
        with contextlib.suppress(SQLAlchemyError), self._engine.connect() as connection:
            connection.execute(text(f"NOTIFY {CHANNEL}"))
            connection.commit()

    def listen(self, on_hint: Callable[[], None], ended: threading.Event) -> None:
        url = self._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
        while not ended.is_set():
            try:
                with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    on_hint()  # what was committed while nobody listened
                    while not ended.is_set():
                        for _ in connection.notifies(timeout=1.0, stop_after=1):
                            on_hint()
                        connection.execute("SELECT 1")  # a half-open connection would stay silent for hours
            except psycopg.Error:
                ended.wait(1.0)


class Wakeup:
    """Where the threads of one process wait for the next hint."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._count = 0

    def set(self) -> None:
        """Wake all who wait."""
        with self._condition:
            self._count += 1
            self._condition.notify_all()

    @property
    def count(self) -> int:
        """How many hints have come; take it before you look, and give it to ``wait``."""
        return self._count

    def wait(self, seen: int, timeout: float) -> int:
        """Wait until more than ``seen`` hints have come, at most ``timeout`` seconds. Returns the count."""
        with self._condition:
            self._condition.wait_for(lambda: self._count != seen, timeout)
            return self._count
