"""Putting one streamed answer together, event by event, without changing what was received."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from nomos.domain.replies import Reply, Usage
from nomos.errors import FaultKind, ModelFault
from nomos.llm.base import Piece

_APPENDED: Mapping[str, tuple[str, Literal["text", "thinking"]]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
}
_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class Answer:
    """The answer so far. Feed it the events of the Messages API as dicts; ask it for the reply at the end."""

    def __init__(self) -> None:
        self._blocks: list[dict[str, Any]] = []
        self._inputs: dict[int, str] = {}
        self._closed: set[int] = set()
        self._usage: dict[str, int] = {}
        self._model = ""
        self._stop_reason: str | None = None
        self._refusal: str | None = None
        self.started = False
        self.complete = False

    @property
    def in_tool_call(self) -> bool:
        """Whether the block that came last is a tool call that was not closed."""
        last = len(self._blocks) - 1
        return last >= 0 and last not in self._closed and "input" in self._blocks[last]

    def feed(self, event: Mapping[str, Any]) -> Piece | None:
        """Take in one event; return the piece to show, if the event holds one.

        Raises ``ModelFault`` (broken) when the event cannot belong to this answer.
        """
        try:
            return self._take_in(event)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelFault(FaultKind.BROKEN, "The model's answer lacks parts that every answer has.") from error

    def reply(self) -> Reply:
        """Return what was received. A tool call whose input is not one whole JSON object is never in ``closed``."""
        return Reply(
            content=tuple(self._blocks),
            stop_reason=self._stop_reason,
            complete=self.complete,
            model=self._model,
            usage=self._known_usage(),
            closed=frozenset(self._closed),
            refusal=self._refusal,
        )

    def _take_in(self, event: Mapping[str, Any]) -> Piece | None:
        kind = event["type"]
        if kind == "message_start":
            self.started = True
            self._model = event["message"].get("model") or ""
            self._count(event["message"].get("usage"))
        elif not self.started:
            raise ModelFault(FaultKind.BROKEN, "The model's answer came without its beginning.")
        elif kind == "content_block_start":
            return self._begin(event["index"], dict(event["content_block"]))
        elif kind == "content_block_delta":
            return self._append(event["index"], event["delta"])
        elif kind == "content_block_stop":
            self._close(event["index"])
        elif kind == "message_delta":
            self._end(event["delta"])
            self._count(event.get("usage"))
        elif kind == "message_stop":
            self.complete = True
        return None

    def _begin(self, index: int, block: dict[str, Any]) -> Piece | None:
        if index != len(self._blocks):
            raise ModelFault(FaultKind.BROKEN, "The model's answer came with its parts out of order.")
        self._blocks.append(block)
        kind = block.get("type")
        if kind == "tool_use":
            return Piece(index, "tool_call", _text(block["name"]))
        if kind == "text":
            return _piece(index, "text", _text(block["text"]))
        if kind == "thinking":
            return _piece(index, "thinking", _text(block["thinking"]))
        return None

    def _append(self, index: int, delta: Mapping[str, Any]) -> Piece | None:
        block = self._block(index)
        kind = delta.get("type", "")
        if kind in _APPENDED:
            field, piece = _APPENDED[kind]
            words = _text(delta[field])
            block[field] = block.get(field, "") + words
            return _piece(index, piece, words)
        if kind == "input_json_delta":
            self._inputs[index] = self._inputs.get(index, "") + _text(delta["partial_json"])
        elif kind == "signature_delta":
            block["signature"] = _text(delta["signature"])
        elif kind == "citations_delta":
            block["citations"] = [*(block.get("citations") or ()), delta["citation"]]
        return None

    def _close(self, index: int) -> None:
        block = self._block(index)
        written = self._inputs.get(index, "")
        if block.get("type") == "tool_use" or written:
            whole = _whole_object(written) if written else block.get("input") or {}
            if not isinstance(whole, dict):
                return
            block["input"] = whole
        self._closed.add(index)

    def _block(self, index: int) -> dict[str, Any]:
        if not 0 <= index < len(self._blocks):
            raise ModelFault(FaultKind.BROKEN, "The model's answer came with its parts out of order.")
        return self._blocks[index]

    def _end(self, delta: Mapping[str, Any]) -> None:
        self._stop_reason = delta.get("stop_reason")
        details = delta.get("stop_details") or {}
        said = [str(details[name]) for name in ("category", "explanation") if details.get(name)]
        if self._stop_reason == "refusal":
            self._refusal = ": ".join(said) or None

    def _count(self, usage: Mapping[str, Any] | None) -> None:
        for name in _USAGE:
            tokens = (usage or {}).get(name)
            if isinstance(tokens, int):
                self._usage[name] = tokens

    def _known_usage(self) -> Usage:
        # Some translating servers say 0 for everything: they do not know, which is not the same as free.
        if not any(self._usage.values()):
            return Usage()
        return Usage(*(self._usage.get(name) for name in _USAGE))


def _piece(index: int, kind: Literal["text", "thinking"], words: str) -> Piece | None:
    return Piece(index, kind, words) if words else None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    # A lone surrogate may be received, but could be neither stored nor ever sent back.
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _whole_object(written: str) -> dict[str, Any] | None:
    # The SDK parses in partial mode and drops what was cut; a call with half its input must not look like a call.
    # NaN and lone surrogates are refused because they could be received but never sent back.
    try:
        value = json.loads(written, parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False).encode()
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)
