"""A model for tests: real HTTP, and a script of answers.

    with ScriptedModelServer([calls(("list_hosts", {})), text("All is well.")]) as server:
        ...  # ANTHROPIC_BASE_URL = server.url
    assert not server.unlawful and not server.unexpected

Every request is checked as the cloud checks it. ``answers`` holds what a script is made of.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from itertools import islice
from types import TracebackType
from typing import Any, Self

from nomos.rehearsal.model.lawful import Refusal
from nomos.rehearsal.model.protocol import Hold, Move, Response, Streamed
from nomos.rehearsal.model.server import ModelServer
from tests.harness.answers import Answer, Request, error


class Held:
    """An answer that stops after its first moves until it is released."""

    def __init__(self, answer: Answer, after: int) -> None:
        self.reached = threading.Event()
        self._gate = threading.Event()
        self._answer = answer
        self._after = after

    def __call__(self, request: Request) -> Response:
        response = self._answer(request)
        assert isinstance(response, Streamed), "only a streamed answer can be held"
        return Streamed(self._moves(response))

    def release(self) -> None:
        """Let the rest of the answer go."""
        self._gate.set()

    def _moves(self, response: Streamed) -> Iterable[Move]:
        moves = iter(response.moves)
        yield from islice(moves, self._after)
        self.reached.set()
        yield Hold(self._gate)
        yield from moves


class ScriptedModelServer:
    """Answers requests from a script, in order. Start it with ``with``, or ``start`` and ``stop``."""

    def __init__(
        self, script: Iterable[Answer] | Callable[[Request], Answer] = (), *, api_key: str | None = None
    ) -> None:
        """:param script: answers in order, or a callable that picks an answer for a request."""
        self._choose = script if callable(script) else None
        self._answers: list[Answer] = [] if callable(script) else list(script)
        self._matched: list[tuple[str, list[Answer]]] = []
        self._lock = threading.Lock()
        self._server = ModelServer(self._respond, api_key=api_key)
        self.unexpected: list[Request] = []

    @property
    def url(self) -> str:
        """The base address."""
        return self._server.url

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the lawful requests so far."""
        return list(self._server.requests)

    @property
    def unlawful(self) -> list[tuple[Refusal, dict[str, Any]]]:
        """What was refused, and why."""
        return list(self._server.refusals)

    @property
    def hung_up(self) -> int:
        """How many answers the client did not wait for, as far as the server was waiting itself."""
        return self._server.hung_up

    def add(self, *answers: Answer) -> None:
        """Append answers to the script."""
        with self._lock:
            self._answers.extend(answers)

    def when(self, words: str, *answers: Answer) -> None:
        """Answer requests whose messages hold ``words`` from a script of their own: one script a session."""
        with self._lock:
            self._matched.append((words, list(answers)))

    def hold(self, answer: Answer, after: int = 1) -> Held:
        """Return ``answer`` as one that waits after its first ``after`` moves (1: only ``message_start`` is sent)."""
        return Held(answer, after)

    def start(self) -> None:
        """Serve from now on."""
        self._server.start()

    def stop(self) -> None:
        """End all answers, held ones too, and close the port."""
        self._server.stop()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _respond(self, request: Request) -> Response:
        return self._next(request)(request)

    def _next(self, request: Request) -> Answer:
        if self._choose is not None:
            return self._choose(request)
        said = json.dumps(request["messages"], ensure_ascii=False)
        with self._lock:
            script = next((answers for words, answers in self._matched if words in said), self._answers)
            if script:
                return script.pop(0)
            self.unexpected.append(request)
        # A status that nobody tries again: the test ends soon and says why.
        return error(400, "the script holds no answer for this request")
