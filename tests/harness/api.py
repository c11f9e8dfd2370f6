"""A client of the API for tests: plain HTTP from the standard library, and a reader of the feed in a thread."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tests.harness.wait import wait_for


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: status, headers (names in small letters), body."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


class Api:
    """Speaks to one Nomos with one token. Addresses are below ``/api/v1`` unless they begin with ``//``."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self.token = token

    def call(
        self, method: str, path: str, body: object = None, *, headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Answer:  # fmt: skip
        """Make one request. ``raw`` is sent as it is in place of a JSON body."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = raw
        if body is not None:
            data = json.dumps(body).encode()
            sent["Content-Type"] = "application/json"
        connection.request(method, self._path(path), data, {**sent, **(headers or {})})
        response = connection.getresponse()
        answer = Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        connection.close()
        return answer

    @staticmethod
    def _path(path: str) -> str:
        return path[1:] if path.startswith("//") else f"/api/v1{path}"

    def get(self, path: str) -> Answer:
        """GET."""
        return self.call("GET", path)

    def post(self, path: str, body: object = None) -> Answer:
        """POST."""
        return self.call("POST", path, {} if body is None else body)

    def put(self, path: str, body: object) -> Answer:
        """PUT."""
        return self.call("PUT", path, body)

    def alive(self) -> bool:
        """Whether anything answers."""
        try:
            return self.get("//healthz").status == 200
        except OSError:
            return False

    # what tests do again and again

    def new_session(self) -> str:
        """Open a session; returns its id."""
        return str(self.post("/sessions").json["id"])

    def say(self, session_id: str, text: str, client_id: str | None = None) -> Answer:
        """Send a message as the operator."""
        return self.post(
            f"/sessions/{session_id}/messages", {"client_id": client_id or str(uuid.uuid4()), "text": text}
        )

    def snapshot(self, session_id: str) -> Any:
        """The session's snapshot."""
        return self.get(f"/sessions/{session_id}").json

    def until(self, session_id: str, condition: Callable[[Any], object], what: str, timeout: float = 90) -> Any:
        """Wait until the snapshot fits, and return it."""
        last: list[Any] = [None]

        def look() -> bool:
            last[0] = self.snapshot(session_id)
            return bool(condition(last[0]))

        try:
            wait_for(look, timeout, what)
        except AssertionError as error:
            raise AssertionError(f"{error}; the session was: {json.dumps(last[0], indent=1)[-1500:]}") from None
        return last[0]

    def until_state(self, session_id: str, state: str, timeout: float = 90) -> Any:
        """Wait until the session is ``state``, and return its snapshot."""
        return self.until(session_id, lambda s: s["session"]["state"] == state, f"the session to be {state}", timeout)

    def pending(self, session_id: str) -> Any:
        """Wait for the session's open question, and return it."""

        def found(snapshot: Any) -> list[Any]:
            return [a for a in snapshot["approvals"] if a["state"] == "pending"]

        return found(self.until(session_id, found, "an approval"))[0]

    def decide(self, approval: Any, verdict: str = "approve", **more: object) -> Answer:
        """Answer an approval as shown."""
        body = {"verdict": verdict, "digest": approval["digest"], **more}
        return self.put(f"/approvals/{approval['id']}/decision", body)

    def feed(self, path: str = "/events?after=0", *, last_event_id: str | None = None) -> Feed:
        """Open a stream."""
        return Feed(self, path, last_event_id)


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of the feed: ``name`` is "message" unless it is a control frame; comments have the name "comment"."""

    name: str
    id: str | None
    data: Any


class Feed:
    """Reads a stream in a thread; ``frames`` grows."""

    def __init__(self, api: Api, path: str, last_event_id: str | None) -> None:
        parts = urlsplit(api.url)
        assert parts.hostname is not None
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        headers = {"Authorization": f"Bearer {api.token}"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        self._connection.request("GET", f"/api/v1{path}", headers=headers)
        self._socket: socket.socket = self._connection.sock
        self.response = self._connection.getresponse()
        self.status = self.response.status
        self.headers = {k.lower(): v for k, v in self.response.getheaders()}
        self.frames: list[Frame] = []
        self.retry: int | None = None
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        name, id_, data = "message", None, ""
        try:
            while line := self.response.readline():
                text = line.decode().rstrip("\n")
                if text == "":
                    if data:
                        self.frames.append(Frame(name, id_, json.loads(data)))
                    name, id_, data = "message", None, ""
                elif text.startswith(":"):
                    self.frames.append(Frame("comment", None, text[1:].strip()))
                else:
                    key, _, value = text.partition(": ")
                    if key == "event":
                        name = value
                    elif key == "id":
                        id_ = value
                    elif key == "retry":
                        self.retry = int(value)
                    elif key == "data":
                        data += value
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        finally:
            self.ended.set()

    @property
    def events(self) -> list[Any]:
        """The CloudEvents so far."""
        return [frame.data for frame in list(self.frames) if frame.name == "message"]

    def of(self, type_: str) -> list[Any]:
        """The data of the events of one type, without its ``nomos.``."""
        return [event["data"] for event in self.events if event["type"] == f"nomos.{type_}"]

    @property
    def cursor(self) -> str | None:
        """The id of the last event."""
        return next((frame.id for frame in reversed(list(self.frames)) if frame.id is not None), None)

    def until(self, condition: Callable[[Feed], object], what: str, timeout: float = 90) -> None:
        """Wait until the feed fits."""
        wait_for(lambda: bool(condition(self)), timeout, what)

    def cut(self) -> None:
        """Cut the wire."""
        # Closing alone would wait for the reader, which waits for the next byte.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self.ended.wait(5)
        self.response.close()
        self._connection.close()
