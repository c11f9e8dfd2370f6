"""Putting an answer together from its events."""

from __future__ import annotations

from typing import Any

import pytest

from nomos.domain.replies import Reply, Usage
from nomos.errors import FaultKind, ModelFault
from nomos.llm.answer import Answer

START = {"type": "message_start", "message": {"model": "some-model", "usage": {"input_tokens": 10, "output_tokens": 1}}}


def fed(*events: dict[str, Any]) -> Reply:
    answer = Answer()
    for event in (START, *events):
        answer.feed(event)
    return answer.reply()


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def tool_call(*pieces: str, **more: Any) -> Reply:
    start = {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {}, **more}
    return fed(*block(0, start, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces)))


@pytest.mark.parametrize(
    "written",
    ['{"host": "pra', '{"host": "practice"', "[1]", "NaN", '{"a": NaN}', '{"a": "\\ud800"}', "nothing", '{"a": 1} {'],
)
def test_input_that_is_not_one_whole_object_never_closes_the_call(written: str) -> None:
    reply = tool_call(written)
    assert (reply.content[0]["input"], reply.closed) == ({}, frozenset())


@pytest.mark.parametrize("given", [None, "", {}])
def test_no_input_is_an_empty_one(given: Any) -> None:
    reply = tool_call(input=given)
    assert (reply.content[0]["input"], reply.closed) == ({}, frozenset({0}))


def test_input_sent_with_the_start_is_kept() -> None:
    reply = tool_call(input={"host": "practice"})
    assert (reply.content[0]["input"], reply.closed) == ({"host": "practice"}, frozenset({0}))


def test_what_could_never_be_sent_back_is_replaced_on_arrival() -> None:
    delta = {"type": "text_delta", "text": "a\ud800b \ud83d\ude00"}
    assert fed(*block(0, {"type": "text", "text": ""}, delta)).content[0]["text"] == "a\ufffdb \U0001f600"


def test_thoughts_keep_their_signature_and_texts_their_citations() -> None:
    reply = fed(
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Hm."},
            {"type": "signature_delta", "signature": "c2ln"},
        ),
        *block(
            1,
            {"type": "text", "text": "", "citations": None},
            {"type": "citations_delta", "citation": {"cited_text": "x"}},
            {"type": "text_delta", "text": "So."},
            {"type": "brand_new_delta"},
        ),
    )
    assert list(reply.content) == [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "So.", "citations": [{"cited_text": "x"}]},
    ]


@pytest.mark.parametrize(
    ("usage", "known"),
    [
        ({"output_tokens": 7}, Usage(10, 7)),
        ({"input_tokens": 12, "output_tokens": 7, "cache_read_input_tokens": 5}, Usage(12, 7, 5)),
        ({"output_tokens": None}, Usage(10, 1)),
        ({"input_tokens": 0, "output_tokens": 0}, Usage()),
    ],
    ids=["cumulative", "again", "not said", "zeros"],
)
def test_usage_is_what_was_said_last(usage: dict[str, Any], known: Usage) -> None:
    reply = fed({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage})
    assert (reply.usage, reply.stop_reason, reply.complete) == (known, "end_turn", False)


@pytest.mark.parametrize(
    "events",
    [
        block(1, {"type": "text", "text": ""}),
        [{"type": "content_block_stop", "index": 0}],
        [{"type": "content_block_start", "index": 0}],
        [{"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": 1}}],
    ],
    ids=["gap", "never begun", "no block", "no text"],
)
def test_events_that_belong_to_no_answer_are_a_broken_one(events: list[dict[str, Any]]) -> None:
    with pytest.raises(ModelFault) as caught:
        fed(*events)
    assert caught.value.kind is FaultKind.BROKEN


def test_an_answer_without_its_beginning_is_broken() -> None:
    with pytest.raises(ModelFault):
        Answer().feed({"type": "message_stop"})
