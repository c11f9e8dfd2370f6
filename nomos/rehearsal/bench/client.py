"""Plain HTTP to a Nomos under measurement, and a reader of its feed that notes when each event arrived."""

from __future__ import annotations

import http.client
import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nomos.errors import NomosError

PATIENCE = 30.0  # seconds to wait for what must come


class NothingCame(NomosError):
    """Nomos did not answer within the time that a measurement waits."""

    code = "nothing_came"


class Client:
    """One token's view of the Nomos at ``port`` on loopback."""

    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._token = token

    def open(self) -> http.client.HTTPConnection:
        """A new connection."""
        return http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)

    def request(self, connection: http.client.HTTPConnection, method: str, path: str, body: object = None) -> None:
        """Send one request; the answer is the caller's to read."""
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """One request over a connection of its own; returns the decoded answer.

        :raises NothingCame: it was refused.
        """
        connection = self.open()
        try:
            self.request(connection, method, path, body)
            response = connection.getresponse()
            raw = response.read()
        finally:
            connection.close()
        if response.status >= 400 and path != "/readyz":
            raise NothingCame(f"{method} {path} was answered with {response.status}: {raw[:200].decode()}")
        return json.loads(raw)

    def say(self, session_id: str, text: str) -> None:
        """Send a message as the operator."""
        path = f"/api/v1/sessions/{session_id}/messages"
        self.call("POST", path, {"client_id": str(uuid.uuid4()), "text": text})

    def new_session(self) -> str:
        """Open a session; returns its id."""
        return str(self.call("POST", "/api/v1/sessions", {})["id"])


@dataclass(frozen=True, slots=True)
class Seen:
    """One event of the feed. ``at``: CLOCK_MONOTONIC in seconds when its line had been read; ``place``: its number."""

    place: int
    at: float
    type: str
    data: Any


class Feed:
    """Reads the feed of everything, output included, in a thread of its own. Use it with ``with``."""

    def __init__(self, client: Client) -> None:
        self._connection = client.open()
        client.request(self._connection, "GET", "/api/v1/events?output=1")
        self._response = self._connection.getresponse()
        self._changed = threading.Condition()
        self._seen: list[Seen] = []
        self._current = False
        self._thread = threading.Thread(target=self._read, name="bench-feed", daemon=True)

    def __enter__(self) -> Feed:
        self._thread.start()
        with self._changed:
            self._changed.wait_for(lambda: self._current, PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone would wait for the reader, which waits for the next line.
        if self._connection.sock is not None:
            self._connection.sock.shutdown(2)
        self._thread.join()
        self._response.close()
        self._connection.close()

    @property
    def place(self) -> int:
        """How many events there were so far: where a later search begins."""
        with self._changed:
            return len(self._seen)

    def first(self, what: str, fits: Callable[[Seen], object], after: int = 0) -> Seen:
        """The first event from place ``after`` on that ``fits``; waits for it.

        :raises NothingCame: names ``what`` did not come.
        """
        deadline = time.monotonic() + PATIENCE
        at = after
        with self._changed:
            while True:
                while at < len(self._seen):
                    if fits(self._seen[at]):
                        return self._seen[at]
                    at += 1
                if not self._changed.wait(max(0.0, deadline - time.monotonic())):
                    raise NothingCame(f"{what} did not come within {PATIENCE:g} s")

    def every(self, fits: Callable[[Seen], object], after: int = 0) -> list[Seen]:
        """All events so far, from place ``after`` on, that fit."""
        with self._changed:
            return [seen for seen in self._seen[after:] if fits(seen)]

    def _read(self) -> None:
        name = ""
        while line := self._response.readline():
            at = time.monotonic()
            if line.startswith(b"event: "):
                name = line[7:].decode().strip()
            elif line.startswith(b"data: "):
                self._take(at, name, json.loads(line[6:]))
                name = ""

    def _take(self, at: float, name: str, data: Any) -> None:
        with self._changed:
            if name == "current":
                self._current = True
            elif not name:
                self._seen.append(Seen(len(self._seen), at, data["type"], data["data"]))
            self._changed.notify_all()
