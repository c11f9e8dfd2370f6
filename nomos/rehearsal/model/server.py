"""An HTTP server that speaks the Messages API and answers what a callable says."""

from __future__ import annotations

import contextlib
import json
import re
import select
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from nomos.rehearsal.model.lawful import Refusal, check
from nomos.rehearsal.model.protocol import (
    Break,
    Event,
    Hold,
    Move,
    Raw,
    Reset,
    Response,
    Streamed,
    Wait,
    Whole,
    error_response,
)

KEPT = 500  # requests and refusals remembered
_BODY_LIMIT = 32 * 1024 * 1024
_LOOK = 0.02


class _Gone(Exception):
    """The client hung up, or the server stops."""


class ModelServer:
    """Serves ``POST /v1/messages`` and ``GET /v1/models/<name>`` on a loopback port, in threads of its own.

    ``requests`` holds the bodies of all lawful requests, ``refusals`` what was refused and why; both are bounded.
    """

    def __init__(
        self, respond: Callable[[Mapping[str, Any]], Response], *, api_key: str | None = None, port: int = 0
    ) -> None:
        """Bind at once, so that ``url`` is known; serve after ``start``.

        :param respond: called in a thread of its own for every lawful request. :param api_key: refuse other keys.
        """
        self.requests: deque[dict[str, Any]] = deque(maxlen=KEPT)
        self.refusals: deque[tuple[Refusal, dict[str, Any]]] = deque(maxlen=KEPT)
        self.hung_up = 0  # answers that the client did not wait for
        self._respond = respond
        self._api_key = api_key
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        owner = self

        class Handler(_Handler):
            server_owner = owner

        self._http = _Server(("127.0.0.1", port), Handler)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """The base address, for ``ANTHROPIC_BASE_URL``."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def start(self) -> None:
        """Serve from now on."""
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, name="model-server", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End all answers and close the port."""
        self._stopping.set()
        if self._thread is not None:
            self._http.shutdown()
            self._thread.join()
        self._http.server_close()

    def answer(self, raw: bytes, key: str) -> Response:
        """Return the response to one request body."""
        if self._api_key is not None and key != self._api_key:
            return error_response(401, "authentication_error", "invalid x-api-key")
        if len(raw) > _BODY_LIMIT:
            return error_response(413, "request_too_large", "Request exceeds the maximum size")
        try:
            body = json.loads(raw)
        except ValueError:
            return error_response(400, "invalid_request_error", "The request body is not valid JSON")
        refusal = check(body)
        if refusal is None and body.get("stream") is not True:
            refusal = Refusal("stream: this server only streams")
        with self._lock:
            if refusal is None:
                self.requests.append(body)
            else:
                self.refusals.append((refusal, body))
        if refusal is not None:
            return error_response(refusal.status, refusal.kind, refusal.message)
        return self._respond(body)

    def play(self, move: Move, connection: socket.socket, write: Callable[[bytes], None]) -> None:
        """Make one move."""
        if isinstance(move, Event):
            write(move.encoded())
        elif isinstance(move, Raw):
            write(move.data)
        elif isinstance(move, Wait):
            self._pause(connection, lambda: False, move.seconds)
        elif isinstance(move, Hold):
            self._pause(connection, move.gate.is_set, None)
        elif isinstance(move, Reset):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # Closed past the handler, which would end the connection politely first.
            socket.socket(fileno=connection.detach()).close()
            raise _Gone
        else:
            assert isinstance(move, Break)
            raise _Gone

    def _pause(self, connection: socket.socket, over: Callable[[], bool], seconds: float | None) -> None:
        until = None if seconds is None else time.monotonic() + seconds
        while not over():
            if self._stopping.is_set():
                raise _Gone
            left = _LOOK if until is None else min(_LOOK, until - time.monotonic())
            if left <= 0:
                return
            # A client that hangs up makes its end readable; it sends nothing else while it waits.
            if select.select([connection], [], [], left)[0]:
                with self._lock:
                    self.hung_up += 1
                raise _Gone


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep quiet about clients that hang up; report everything else as usual."""
        if not isinstance(sys.exception(), ConnectionError | BrokenPipeError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server_owner: ModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None:
        """Say nothing on stderr."""

    def do_GET(self) -> None:
        found = re.fullmatch(r"/v1/models/([^/?]+)", self.path)
        if found is None:
            self._whole(error_response(404, "not_found_error", "Not found"))
            return
        model = {"type": "model", "id": found[1], "display_name": found[1], "created_at": "2026-12-01T00:00:00Z"}
        self._whole(Whole(200, json.dumps(model).encode()))

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path.split("?")[0] != "/v1/messages":
            self._whole(error_response(404, "not_found_error", "Not found"))
            return
        key = self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ")
        response = self.server_owner.answer(raw, key)
        if isinstance(response, Whole):
            self._whole(response)
        else:
            self._streamed(response)

    def _whole(self, response: Whole) -> None:
        self.send_response(response.status)
        for name, value in {
            "content-type": response.content_type,
            "content-length": str(len(response.body)),
            "request-id": "req_rehearsal",
            **response.headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body)

    def _streamed(self, response: Streamed) -> None:
        self.send_response(200)
        for name, value in (
            ("content-type", "text/event-stream; charset=utf-8"),
            ("cache-control", "no-cache"),
            ("request-id", "req_rehearsal"),
            ("transfer-encoding", "chunked"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(_Gone, ConnectionError):
            for move in response.moves:
                self.server_owner.play(move, self.connection, self._chunk)
            self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        if data:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
