"""Whatever a server sends, asking the model ends in a reply or in a fault, and in nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nomos.domain.replies import Reply
from nomos.errors import ModelFault
from nomos.llm.anthropic_model import AnthropicModel
from nomos.llm.base import ModelRequest, Piece
from nomos.rehearsal.model.protocol import Move, Raw, Whole, begin
from tests.harness import answers
from tests.harness.model_server import ScriptedModelServer

REQUEST = ModelRequest("", ({"role": "user", "content": "Hello."},), ())

junk = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "text", "tool_use", "thinking", "1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
    max_leaves=4,
)
kinds = st.sampled_from(
    [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
        "brand_new",
    ]
)
parts = st.fixed_dictionaries(
    {},
    optional={
        "index": st.integers(-1, 2) | junk,
        "message": junk,
        "content_block": st.sampled_from(
            [
                {"type": "text", "text": ""},
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {}},
                {"type": "text", "text": 1},
                {"type": "text"},
                {"type": "tool_use", "name": None},
            ]
        )
        | junk,
        "delta": st.sampled_from(
            [
                {"type": "text_delta", "text": "a"},
                {"type": "thinking_delta", "thinking": "b"},
                {"type": "signature_delta", "signature": "c"},
                {"type": "input_json_delta", "partial_json": '{"a":'},
                {"type": "input_json_delta", "partial_json": "NaN}"},
                {"stop_reason": "end_turn"},
                {"type": "text_delta"},
                {"type": "text_delta", "text": None},
                {"type": "input_json_delta", "partial_json": 1},
            ]
        )
        | junk,
        "usage": st.just({"output_tokens": 1}) | junk,
        "error": junk,
    },
)


@st.composite
def events(draw: st.DrawFn) -> bytes:
    """One event, more or less like those of the protocol."""
    kind = draw(kinds)
    data: Mapping[str, Any] = {"type": kind, **draw(parts)}
    text = draw(st.just(json.dumps(data)) | st.just(json.dumps(draw(junk))) | st.just(json.dumps(data)[:-1]))
    return f"event: {kind}\ndata: {text}\n\n".encode()


@pytest.fixture(scope="module")
def stage() -> Iterator[tuple[list[answers.Answer], AnthropicModel]]:
    script: list[answers.Answer] = []
    with ScriptedModelServer(lambda request: script[-1]) as server:
        yield script, AnthropicModel("sk-test", server.url, "some-model", silence_limit=5)


def outcome(stage: tuple[list[answers.Answer], AnthropicModel], answer: answers.Answer) -> None:
    script, model = stage
    script[:] = [answer]
    heard: list[Piece] = []
    try:
        reply = model.stream(REQUEST, heard.append, lambda: False, first_try=False)
    except ModelFault:
        pass
    else:
        assert isinstance(reply, Reply)
        json.dumps(reply.content, allow_nan=False)
        assert all(reply.content[index].get("type") != "tool_use" or _whole(reply, index) for index in reply.closed)
    assert all(isinstance(piece.text, str) for piece in heard)


def _whole(reply: Reply, index: int) -> bool:
    return isinstance(reply.content[index].get("input"), dict)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(events(), max_size=6), st.booleans())
def test_any_stream(stage: tuple[list[answers.Answer], AnthropicModel], sent: list[bytes], begun: bool) -> None:
    moves: list[Move] = [begin({"model": "some-model"})] if begun else []
    outcome(stage, answers.raw(*moves, *(Raw(event) for event in sent)))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([200, 201, 304, 400, 401, 404, 413, 418, 429, 500, 529, 599]),
    junk.map(lambda value: json.dumps({"error": value}).encode()) | st.binary(max_size=20),
    st.sampled_from(["application/json", "text/html", "text/event-stream", ""]),
)
def test_any_whole_response(
    stage: tuple[list[answers.Answer], AnthropicModel], status: int, body: bytes, kind: str
) -> None:
    outcome(stage, lambda request: Whole(status, b"" if status == 304 else body, kind))
