"""What the model service of a measurement answers: as little as a figure needs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from nomos.rehearsal.model.protocol import (
    Event,
    Move,
    Response,
    Say,
    Streamed,
    Wait,
    answer_moves,
    begin,
    call_block,
    end,
    text_block,
)  # fmt: skip

PRACTICE = "practice"
PACE = 1 / 45  # seconds between two pieces of text: as fast as the rehearsal's model speaks

_RUN = "run: "
_SPEAK = "speak: "


def ask_to_run(command: str) -> str:
    """Words of an operator that have this model call for one command on the practice host."""
    return _RUN + command


def ask_to_speak(pieces: int) -> str:
    """Words of an operator that have this model say so many pieces, each the time at which it was sent."""
    return f"{_SPEAK}{pieces}"


def respond(request: Mapping[str, Any]) -> Response:
    """Answer a lawful request by its last block alone."""
    content = request["messages"][-1]["content"]
    last = content[-1] if isinstance(content, list) else {"type": "text", "text": content}
    words = str(last.get("text", ""))
    if words.startswith(_SPEAK):
        return Streamed(_spoken(request, int(words.removeprefix(_SPEAK))))
    if words.startswith(_RUN):
        arguments = {"host": PRACTICE, "command": words.removeprefix(_RUN), "reason": "to measure"}
        return Streamed(answer_moves(Say([call_block("run", arguments)], "tool_use"), request))
    return Streamed(answer_moves(Say([text_block("Done.")], "end_turn"), request))


def _spoken(request: Mapping[str, Any], pieces: int) -> Iterator[Move]:
    yield begin(request)
    start = {"type": "text", "text": ""}
    yield Event("content_block_start", {"type": "content_block_start", "index": 0, "content_block": start})
    for _ in range(pieces):
        yield Wait(PACE)
        # Each move is made when the one before it is on the wire, so this is the time at which the piece leaves.
        delta = {"type": "text_delta", "text": f"{time.monotonic():.6f} "}
        yield Event("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta})
    yield Event("content_block_stop", {"type": "content_block_stop", "index": 0})
    yield from end("end_turn")
