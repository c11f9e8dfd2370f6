"""Answers for a scripted model: whole ones, and each way in which one can go wrong.

An answer is anything that makes a response from a request: ``text("All is well.")``, ``calls(("run", {…}))``,
``error(529)``. ``ScriptedModelServer`` gives them over real HTTP.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nomos.rehearsal.model.lawful import sign
from nomos.rehearsal.model.protocol import (
    Break,
    Event,
    Move,
    Raw,
    Reset,
    Response,
    Say,
    Streamed,
    Wait,
    Whole,
    answer_moves,
    begin,
    block_moves,
    call_block,
    end,
    error_event,
    error_response,
    input_delta,
    raw_block,
    text_block,
)

Request = Mapping[str, Any]
Answer = Callable[[Request], Response]
Call = tuple[str, Mapping[str, Any]]
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def text(words: str, *, stop_reason: str | None = "end_turn", pace: float = 0.0) -> Answer:
    """Answer in words."""
    return _say([text_block(words)], stop_reason, pace=pace)


def calls(*wanted: Call, words: str = "", ids: Sequence[str] = (), stop_reason: str | None = "tool_use") -> Answer:
    """Call tools, after some words if there are any. Ids are new in every answer unless they are given."""

    def answer(request: Request) -> Response:
        blocks = [text_block(words)] if words else []
        for number, (name, arguments) in enumerate(wanted):
            blocks.append(call_block(name, arguments, ids[number] if number < len(ids) else None))
        return Streamed(answer_moves(Say(blocks, stop_reason), request))

    return answer


def thinking(thought: str, words: str, *wanted: Call) -> Answer:
    """Think, with a signature bound to the request; then say words and call tools. No words: thinking alone."""

    def answer(request: Request) -> Response:
        blocks: list[Mapping[str, Any]] = [
            {"type": "thinking", "thinking": thought, "signature": sign(request, [], thought)}
        ]
        blocks += [text_block(words)] if words else []
        blocks += [call_block(name, arguments) for name, arguments in wanted]
        return Streamed(answer_moves(Say(blocks, "tool_use" if wanted else "end_turn"), request))

    return answer


def blocks(*wanted: Mapping[str, Any]) -> Answer:
    """Answer with exactly these blocks, ids included; stop for tools if there is a call, else end the turn."""
    return _say(list(wanted), "tool_use" if any(block["type"] == "tool_use" for block in wanted) else "end_turn")


def empty() -> Answer:
    """End the turn with no block at all."""
    return _say([], "end_turn")


def empty_text() -> Answer:
    """End the turn with a text block that holds nothing."""
    return _say([text_block("")], "end_turn")


def blank() -> Answer:
    """End the turn with a line break and nothing else."""
    return _say([text_block("\n")], "end_turn")


def no_calls() -> Answer:
    """Stop for tools without calling any."""
    return _say([], "tool_use")


def refusal(words: str = "", *, category: str | None = "cyber", explanation: str | None = "declined") -> Answer:
    """Refuse, after some words if there are any."""
    details = {"type": "refusal", "category": category, "explanation": explanation}
    return _say([text_block(words)] if words else [], "refusal", details)


def max_tokens_in_tool(name: str = "run") -> Answer:
    """Run out of tokens in the middle of a call's input; the block is closed all the same."""
    return _tool(name, '{"host":"practice","command":"rm -rf /var/tmp/na', stop_reason="max_tokens")


def cut_call_called_whole(name: str = "run") -> Answer:
    """Stop for tools with a call whose input is cut: what some translating servers do."""
    return _tool(name, '{"host":"practice","reason":"cle', stop_reason="tool_use")


def tool_without_input(name: str = "list_hosts") -> Answer:
    """Call a tool without sending any input."""
    return _tool(name, "", stop_reason="tool_use")


def bad_tool_json(name: str = "run") -> Answer:
    """Call a tool with input that is no JSON."""
    return _tool(name, '{"host":"practice", command: }', stop_reason="tool_use")


def duplicate_ids(name: str = "list_hosts") -> Answer:
    """Call a tool twice under one id."""
    return calls((name, {}), (name, {}), ids=["toolu_same", "toolu_same"])


def error(status: int, message: str = "scripted", *, retry_after: str | float | None = None, kind: str = "") -> Answer:
    """Answer with an error status."""
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return lambda request: error_response(status, kind or ERROR_TYPES.get(status, "api_error"), message, headers)


def spend_limit(status: int = 429) -> Answer:
    """Say that the account's spend limit is reached, by its stable code."""
    body = {
        "type": "error",
        "error": {
            "type": ERROR_TYPES[status],
            "message": "scripted",
            "details": {"error_code": "enforced_spend_limit_reached"},
        },
    }
    return lambda request: Whole(status, json.dumps(body).encode())


def error_in_stream(kind: str = "overloaded_error", words: str = "Half an ans", message: str = "scripted") -> Answer:
    """Begin an answer, then send an error event."""
    return _stream(lambda: [*block_moves(0, text_block(words), closed=False), error_event(kind, message)])


def cut_in_text(words: str = "Half an ans") -> Answer:
    """End the body cleanly in the middle of a text."""
    return _stream(lambda: block_moves(0, text_block(words), closed=False))


def cut_in_tool(name: str = "run") -> Answer:
    """End the body cleanly in the middle of a call."""
    return _stream(lambda: _open_call(name, '{"host":"practice"'))


def cut_before_stop(words: str = "All said.") -> Answer:
    """Send all but ``message_stop``."""
    return _stream(lambda: [*block_moves(0, text_block(words)), *list(end("end_turn"))[:1]])


def no_stop_reason(words: str = "All said.") -> Answer:
    """End with ``message_stop``, but without a reason."""
    return _say([text_block(words)], None)


def no_usage(words: str = "All said.") -> Answer:
    """Send a ``message_delta`` without usage."""
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}}
    return _stream(
        lambda: [
            *block_moves(0, text_block(words)),
            Event("message_delta", delta),
            Event("message_stop", {"type": "message_stop"}),
        ]
    )


def index_gap() -> Answer:
    """Number the first block 1."""
    return _stream(lambda: [*block_moves(1, text_block("Hello.")), *end("end_turn")])


def reset(words: str = "Half an ans") -> Answer:
    """Reset the connection in the middle of a text."""
    return _stream(lambda: [*block_moves(0, text_block(words), closed=False), Wait(0.05), Reset()])


def broken_body(words: str = "Half an ans") -> Answer:
    """Close the connection without ending the chunked body."""
    return _stream(lambda: [*block_moves(0, text_block(words), closed=False), Break()])


def stall(words: str = "Half an ans") -> Answer:
    """Say something, then nothing for an hour."""
    return _stream(lambda: [*block_moves(0, text_block(words), closed=False), Wait(3600)])


def pings(words: str = "Half an ans", every: float = 0.05) -> Answer:
    """Say something, then send pings for ever."""

    def moves(request: Request) -> Iterable[Move]:
        yield begin(request)
        yield from block_moves(0, text_block(words), closed=False)
        while True:
            yield Event("ping", {"type": "ping"})
            yield Wait(every)

    return lambda request: Streamed(moves(request))


def bad_json() -> Answer:
    """Send an event whose data is no JSON."""
    return _stream(lambda: [Raw(b'event: content_block_start\ndata: {"type": "content_blo\n\n')])


def bad_bytes() -> Answer:
    """Send an event that is not UTF-8."""
    return _stream(lambda: [Raw(b'event: content_block_start\ndata: {"type": "\xff\xfe"}\n\n')])


def html(status: int = 200) -> Answer:
    """Answer with a web page."""
    return lambda request: Whole(status, b"<html><title>Welcome</title></html>", "text/html")


def json_body() -> Answer:
    """Answer a streaming request with one whole message."""
    body = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "stop_reason": "end_turn"}
    return lambda request: Whole(200, json.dumps(body).encode())


def nameless_events(words: str = "Hello.") -> Answer:
    """Send events without their ``event:`` line."""

    def moves(request: Request) -> Iterable[Move]:
        for move in answer_moves(Say([text_block(words)], "end_turn"), request):
            assert isinstance(move, Event)
            yield Raw(move.encoded().split(b"\n", 1)[1])

    return lambda request: Streamed(moves(request))


def unknown_event(words: str = "Hello.") -> Answer:
    """Send an event of a kind that does not exist yet, then answer."""
    return _stream(
        lambda: [Event("brand_new", {"type": "brand_new"}), *block_moves(0, text_block(words)), *end("end_turn")]
    )


def unknown_block() -> Answer:
    """Answer with a block of a kind that does not exist yet."""
    block = {"type": "hologram", "data": {"depth": 3}}
    return _stream(lambda: [*raw_block(0, block, []), *block_moves(1, text_block("Hello.")), *end("end_turn")])


def slow(words: str, pace: float = 0.02) -> Answer:
    """Answer in words, ``pace`` seconds a token."""
    return text(words, pace=pace)


def raw(*moves: Move) -> Answer:
    """Make exactly these moves."""
    return lambda request: Streamed(moves)


def _say(
    blocks: list[Mapping[str, Any]],
    stop_reason: str | None,
    details: Mapping[str, Any] | None = None,
    pace: float = 0.0,
) -> Answer:
    return lambda request: Streamed(answer_moves(Say(blocks, stop_reason, details), request, pace))


def _stream(rest: Callable[[], Iterable[Move]]) -> Answer:
    return lambda request: Streamed([begin(request), *rest()])


def _open_call(name: str, written: str) -> Iterable[Move]:
    start = {**call_block(name, {}), "input": {}}
    return raw_block(0, start, [input_delta(written)] if written else [], closed=False)


def _tool(name: str, written: str, *, stop_reason: str) -> Answer:
    closing = Event("content_block_stop", {"type": "content_block_stop", "index": 0})
    return _stream(lambda: [*_open_call(name, written), closing, *end(stop_reason)])
