"""A model that answers from a script. Honours the same contract as the real one; for tests and tools."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from nomos.domain.replies import Reply, Usage
from nomos.errors import FaultKind, ModelFault
from nomos.llm.base import ModelRequest, Piece

_LOOK = 0.05


class Silence:
    """An answer that never comes: the call lasts until it is stopped, or ends as too slow after ``limit`` seconds."""

    def __init__(self, limit: float = 120.0) -> None:
        self.limit = limit


ScriptedAnswer = Reply | ModelFault | Silence


def reply(
    *blocks: Mapping[str, Any], stop_reason: str | None = None, complete: bool = True, model: str = "scripted"
) -> Reply:
    """Return a reply of closed blocks; it stops for tools if there is a tool call, else it ends the turn."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    return Reply(
        content=blocks,
        stop_reason=stop_reason or ("tool_use" if calls else "end_turn"),
        complete=complete,
        model=model,
        usage=Usage(1, max(1, len(json.dumps(blocks)) // 4)),
        closed=frozenset(range(len(blocks))),
    )


class ScriptedModel:
    """Gives its answers in order, or as a callable picks them. Keeps each request, and whether it was a first try."""

    def __init__(
        self, script: Iterable[ScriptedAnswer] | Callable[[ModelRequest], ScriptedAnswer], *, name: str = "scripted"
    ) -> None:
        self._script = script if callable(script) else None
        self._answers: Iterator[ScriptedAnswer] = iter(()) if callable(script) else iter(script)
        self._lock = threading.Lock()
        self._name = name
        self.requests: list[ModelRequest] = []
        self.first_tries: list[bool] = []

    @property
    def name(self) -> str:
        return self._name

    def stream(
        self,
        request: ModelRequest,
        on_piece: Callable[[Piece], None],
        stopped: Callable[[], bool],
        *,
        first_try: bool = True,
    ) -> Reply:
        """See ``Model.stream``. A script that has come to its end is a permanent fault."""
        with self._lock:
            self.requests.append(deepcopy(request))
            self.first_tries.append(first_try)
            answer = self._script(request) if self._script else next(self._answers, None)
        if stopped():
            raise _stopped()
        if answer is None:
            raise ModelFault(FaultKind.PERMANENT, "The script holds no answer for this request.")
        if isinstance(answer, ModelFault):
            raise answer
        if isinstance(answer, Silence):
            _stay_silent(answer, stopped)
        else:
            for piece in _pieces(answer):
                if stopped():
                    raise _stopped()
                on_piece(piece)
            return answer
        raise ModelFault(FaultKind.TRANSIENT, f"The model said nothing for {answer.limit:g} seconds.")


def _stay_silent(silence: Silence, stopped: Callable[[], bool]) -> None:
    nothing = threading.Event()
    for _ in range(int(silence.limit / _LOOK)):
        if stopped():
            raise _stopped()
        nothing.wait(_LOOK)


def _pieces(answer: Reply) -> Iterator[Piece]:
    for index, block in enumerate(answer.content):
        if block["type"] == "tool_use":
            yield Piece(index, "tool_call", block["name"])
        elif block["type"] == "text":
            yield from (Piece(index, "text", words) for words in _words(block["text"]))
        elif block["type"] == "thinking":
            yield from (Piece(index, "thinking", words) for words in _words(block["thinking"]))


def _words(text: str) -> list[str]:
    return re.findall(r"\s*\S+|\s+", text)


def _stopped() -> ModelFault:
    return ModelFault(FaultKind.STOPPED, "The operator pressed Stop.")
