"""How an answer of the Messages API travels: as moves on a connection, whole or broken.

Facts: the SDK wants both an ``event:`` and a ``data:`` line for each event, block indexes from 0 without gaps, and
usage in ``message_delta``.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Block = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """Send one event."""

    name: str
    data: Mapping[str, Any]

    def encoded(self) -> bytes:
        """Return the event as it goes over the wire."""
        return f"event: {self.name}\ndata: {json.dumps(self.data)}\n\n".encode()


@dataclass(frozen=True, slots=True)
class Raw:
    """Send bytes that are no event."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Send nothing for some seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hold:
    """Send nothing until the gate is opened."""

    gate: threading.Event


@dataclass(frozen=True, slots=True)
class Reset:
    """Reset the TCP connection."""


@dataclass(frozen=True, slots=True)
class Break:
    """Close the connection without ending the body."""


Move = Event | Raw | Wait | Hold | Reset | Break


@dataclass(frozen=True, slots=True)
class Streamed:
    """A 200 whose body is a stream of moves; it ends cleanly after the last one."""

    moves: Iterable[Move]


@dataclass(frozen=True, slots=True)
class Whole:
    """A response that is sent at once."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


Response = Streamed | Whole


@dataclass(frozen=True, slots=True)
class Say:
    """What the model says: blocks as the API returns them, and why it stops."""

    blocks: Sequence[Block]
    stop_reason: str | None
    stop_details: Mapping[str, Any] | None = None


def text_block(text: str) -> Block:
    """Return a text block."""
    return {"type": "text", "text": text}


def call_block(name: str, arguments: Mapping[str, Any], call_id: str | None = None) -> Block:
    """Return a tool call; its id is new unless one is given."""
    return {
        "type": "tool_use",
        "id": call_id or f"toolu_{uuid.uuid4().hex[:24]}",
        "name": name,
        "input": dict(arguments),
    }


def error_body(kind: str, message: str, request_id: str = "req_rehearsal") -> Mapping[str, Any]:
    """Return the body of an error, also used as the data of an error event."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def error_response(status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> Whole:
    """Return an error with its status."""
    return Whole(status, json.dumps(error_body(kind, message)).encode(), headers=headers or {})


def error_event(kind: str, message: str) -> Event:
    """Return an error in the middle of a stream."""
    return Event("error", error_body(kind, message))


def answer_moves(say: Say, request: Mapping[str, Any], pace: float = 0.0) -> Iterator[Move]:
    """Yield a whole lawful answer. ``pace``: seconds for each token; 0 sends at once."""
    yield begin(request)
    for index, block in enumerate(say.blocks):
        yield from block_moves(index, block, pace)
    yield from end(say.stop_reason, say.stop_details, _tokens(say.blocks))


def begin(request: Mapping[str, Any]) -> Event:
    """Return ``message_start``."""
    message = {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", ""),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": max(1, len(json.dumps(request.get("messages", []))) // 4),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 1,
        },
    }
    return Event("message_start", {"type": "message_start", "message": message})


def end(stop_reason: str | None, details: Mapping[str, Any] | None = None, tokens: int = 1) -> Iterator[Move]:
    """Yield ``message_delta`` and ``message_stop``."""
    delta = {"stop_reason": stop_reason, "stop_sequence": None, "stop_details": details}
    yield Event("message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": tokens}})
    yield Event("message_stop", {"type": "message_stop"})


def block_moves(index: int, block: Block, pace: float = 0.0, *, closed: bool = True) -> Iterator[Move]:
    """Yield one block in pieces: what grows is sent as deltas, the rest with its start."""
    kind = block["type"]
    start, deltas = dict(block), list[Mapping[str, Any]]()
    if kind == "text":
        start["text"] = ""
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    elif kind == "thinking":
        start |= {"thinking": "", "signature": ""}
        deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    elif kind == "tool_use":
        start["input"] = {}
        deltas = [input_delta(piece) for piece in pieces(json.dumps(block["input"]))]
    yield from raw_block(index, start, deltas, pace, closed=closed)


def raw_block(
    index: int, start: Block, deltas: Iterable[Mapping[str, Any]], pace: float = 0.0, *, closed: bool = True
) -> Iterator[Move]:
    """Yield one block from its own parts."""
    yield Event("content_block_start", {"type": "content_block_start", "index": index, "content_block": start})
    for delta in deltas:
        if pace:
            yield Wait(pace)
        yield Event("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta})
    if closed:
        yield Event("content_block_stop", {"type": "content_block_stop", "index": index})


def input_delta(piece: str) -> Mapping[str, Any]:
    """Return one piece of a tool call's input."""
    return {"type": "input_json_delta", "partial_json": piece}


def pieces(text: str) -> list[str]:
    """Cut a text into pieces about as long as tokens; joined they are the text again."""
    return re.findall(r"\s*\S{1,8}|\s+", text)


def _tokens(blocks: Sequence[Block]) -> int:
    return max(1, sum(len(json.dumps(block)) for block in blocks) // 4)


def digest(value: Any) -> str:
    """Return a short digest of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:32]
