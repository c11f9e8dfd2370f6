"""The stand-in refuses what the cloud refuses, and nothing else."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomos.rehearsal.model.lawful import check, sign

USE = {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"host": "practice"}}
USE_2 = {**USE, "id": "toolu_2"}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "fine", "is_error": False}
RESULT_2 = {**RESULT, "tool_use_id": "toolu_2"}
TEXT = {"type": "text", "text": "Words."}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def agent(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def body(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 100, "messages": list(messages), **more}


def words(refused: Any) -> str:
    refusal = check(refused)
    assert refusal is not None, "this should have been refused"
    assert (refusal.status, refusal.kind) == (400, "invalid_request_error")
    return refusal.message


LAWFUL: dict[str, dict[str, Any]] = {
    "a word": body({"role": "user", "content": "Hello."}),
    "a call answered": body(user(TEXT), agent(TEXT, USE), user(RESULT)),
    "two calls answered, words after": body(user(TEXT), agent(USE, USE_2), user(RESULT_2, RESULT, TEXT)),
    "neighbours of one role": body(user(TEXT), user(TEXT), agent(TEXT), agent(TEXT), user(TEXT)),
    "a result without content": body(user(TEXT), agent(USE), user({"type": "tool_result", "tool_use_id": "toolu_1"})),
    "a result in blocks": body(user(TEXT), agent(USE), user({**RESULT, "content": [TEXT]})),
    "an open question later": body(user(TEXT), agent(USE), user(RESULT), agent(TEXT), user(TEXT)),
    "system and tools": body(
        user(TEXT),
        system=[{**TEXT, "cache_control": {"type": "ephemeral"}}],
        tools=[{"name": "run", "description": "", "input_schema": {"type": "object"}}],
        cache_control={"type": "ephemeral"},
        stream=True,
    ),
    "redacted thinking": body(user(TEXT), agent({"type": "redacted_thinking", "data": "x"}, TEXT), user(TEXT)),
}

UNLAWFUL: dict[str, tuple[dict[str, Any], str]] = {
    "nothing": (body(), "messages: at least one message is required"),
    "ends with the agent": (body(user(TEXT), agent(TEXT)), "The conversation must end with a user message."),
    "begins with the agent": (body(agent(TEXT), user(TEXT)), 'messages: first message must use the "user" role'),
    "role system": (body(user(TEXT), {"role": "system", "content": "x"}, user(TEXT)), 'Unexpected role "system"'),
    "unanswered call": (body(user(TEXT), agent(USE), user(TEXT)), "`tool_use` ids were found without `tool_result`"),
    "half answered": (body(user(TEXT), agent(USE, USE_2), user(RESULT)), "immediately after: toolu_2"),
    "results in two messages": (
        body(user(TEXT), agent(USE, USE_2), user(RESULT), user(RESULT_2)),
        "immediately after: toolu_2",
    ),
    "result after words": (body(user(TEXT), agent(USE), user(TEXT, RESULT)), "immediately after: toolu_1"),
    "agent speaks before the result": (
        body(user(TEXT), agent(USE), agent(TEXT), user(RESULT)),
        "immediately after: toolu_1",
    ),
    "result without a call": (body(user(TEXT), agent(TEXT), user(RESULT)), "unexpected `tool_use_id` found"),
    "result to an old call": (
        body(user(TEXT), agent(USE), user(RESULT), agent(TEXT), user(RESULT)),
        "messages.4.content.0: unexpected `tool_use_id` found",
    ),
    "two results for one call": (body(user(TEXT), agent(USE), user(RESULT, RESULT)), "single result"),
    "one id twice in an answer": (body(user(TEXT), agent(USE, USE), user(RESULT)), "`tool_use` ids must be unique"),
    "one id twice in a history": (
        body(user(TEXT), agent(USE), user(RESULT), agent(USE), user(RESULT)),
        "`tool_use` ids must be unique",
    ),
    "empty text": (body(user({"type": "text", "text": ""})), "text content blocks must be non-empty"),
    "empty text as a string": (body({"role": "user", "content": ""}), "all messages must have non-empty content"),
    "no content": (body(user(TEXT), agent(), user(TEXT)), "messages.1: all messages must have non-empty content"),
    "blank text": (body(user({"type": "text", "text": " \n"})), "must contain non-whitespace text"),
    "empty text in a result": (
        body(user(TEXT), agent(USE), user({**RESULT, "content": [{"type": "text", "text": ""}]})),
        "text content blocks must be non-empty",
    ),
    "unknown block": (body(user({"type": "hologram"})), "Input tag 'hologram' found using 'type'"),
    "unknown field of a block": (body(user({**TEXT, "shown": True})), "messages.0.content.0.text.shown: Extra inputs"),
    "unknown field of a message": (body({**user(TEXT), "id": 1}), "messages.0.id: Extra inputs are not permitted"),
    "unknown field of a request": (body(user(TEXT), session=1), "session: Extra inputs are not permitted"),
    "sampling": (body(user(TEXT), temperature=0.5), "temperature: Extra inputs are not permitted"),
    "a field missing": (body(user({"type": "text"})), "messages.0.content.0.text.text: Field required"),
    "a call by the user": (body(user(USE)), "`tool_use` blocks can only be in `assistant` messages"),
    "a result by the agent": (body(user(TEXT), agent(RESULT), user(TEXT)), "can only be in `user` messages"),
    "a call with a name of its own": (
        body(user(TEXT), agent({**USE, "name": "run it"}), user(RESULT)),
        "tool_use.name: String should match pattern",
    ),
    "a call with an id of its own": (
        body(user(TEXT), agent({**USE, "id": "a:b"}), user({**RESULT, "tool_use_id": "a:b"})),
        "tool_use.id: String should match pattern",
    ),
    "a call with text for input": (
        body(user(TEXT), agent({**USE, "input": "{}"}), user(RESULT)),
        "tool_use.input: Input should be a valid dictionary",
    ),
    "is_error as a word": (body(user(TEXT), agent(USE), user({**RESULT, "is_error": "no"})), "valid boolean"),
    "surrogate": (body(user({"type": "text", "text": "a\ud800b"})), "no low surrogate in string"),
    "surrogate in a call": (
        body(user(TEXT), agent({**USE, "input": {"command": "\udfff"}}), user(RESULT)),
        "no low surrogate in string",
    ),
    "no room": (body(user(TEXT), max_tokens=0), "max_tokens: Input should be greater than or equal to 1"),
    "no model": (body(user(TEXT), model=""), "model: String should have at least 1 character"),
    "a tool with a name of its own": (
        body(user(TEXT), tools=[{"name": "run it", "input_schema": {"type": "object"}}]),
        "tools.0.custom.name: String should match pattern",
    ),
    "a tool twice": (
        body(user(TEXT), tools=[{"name": "run", "input_schema": {"type": "object"}}] * 2),
        "Tool names must be unique",
    ),
    "a tool without a schema": (
        body(user(TEXT), tools=[{"name": "run"}]),
        "tools.0.custom.input_schema: Field required",
    ),
    "too many cache marks": (
        body(user(*[{**TEXT, "cache_control": {"type": "ephemeral"}}] * 5)),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    "thought by another": (
        body(user(TEXT), agent({"type": "thinking", "thinking": "x", "signature": "c2ln"}, TEXT), user(TEXT)),
        "Invalid `signature` in `thinking` block",
    ),
    "thinking at the end": (
        body(user(TEXT), agent({"type": "redacted_thinking", "data": "x"}), user(TEXT)),
        "The final block in an assistant message cannot be `thinking`.",
    ),
    "thinking by the user": (
        body(user({"type": "thinking", "thinking": "x", "signature": "c2ln"})),
        "`thinking` blocks can only be in `assistant` messages",
    ),
}


@pytest.mark.parametrize("name", LAWFUL)
def test_what_the_cloud_takes(name: str) -> None:
    assert check(LAWFUL[name]) is None


@pytest.mark.parametrize("name", UNLAWFUL)
def test_what_the_cloud_refuses(name: str) -> None:
    refused, expected = UNLAWFUL[name]
    assert expected in words(refused)


def test_what_is_no_request_at_all() -> None:
    assert words([]) == "Input should be an object"
    assert "messages: Field required" in words({"model": "m", "max_tokens": 1})
    assert "valid list" in words({"model": "m", "max_tokens": 1, "messages": "Hello."})


def thought(request: dict[str, Any], text: str = "Hm.") -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": sign(request, [], text)}


def test_a_thought_is_bound_to_all_that_came_before() -> None:
    asked = body(user(TEXT), system="You help.", tools=[{"name": "run", "input_schema": {"type": "object"}}])
    later = {**asked, "messages": [*asked["messages"], agent(thought(asked), USE), user(RESULT)]}
    assert check(later) is None
    spelt_otherwise = deepcopy(later)
    spelt_otherwise["system"] = [{"type": "text", "text": "You help.", "cache_control": {"type": "ephemeral"}}]
    spelt_otherwise["messages"][0] = {"role": "user", "content": "Words."}
    assert check(spelt_otherwise) is None
    for change in ("system", "tools", "first message", "thinking"):
        changed = deepcopy(later)
        if change == "system":
            changed["system"] = "You help. It is noon."
        elif change == "tools":
            changed["tools"] = []
        elif change == "first message":
            changed["messages"][0]["content"][0]["text"] = "Other words."
        else:
            changed["messages"][1]["content"][0]["thinking"] = "Hm!"
        assert "bound to a different conversation" in words(changed), change


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_any_value_is_judged_and_never_raises(value: Any) -> None:
    check(value)
    check({"model": "m", "max_tokens": 1, "messages": value})
    check(body(user(value), tools=value))
    check(body(user(TEXT), system=value))
    check(body({"role": value, "content": value}))
    check(body(user({"type": "tool_result", "tool_use_id": value, "content": value})))
    check(body(user(TEXT), agent({**USE, "id": value, "input": value}), user(RESULT)))
    check(body(user(TEXT), cache_control=value))


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A lawful history: some words, some rounds of calls, all answered."""
    messages = [user(TEXT)]
    for round_number in range(draw(st.integers(0, 4))):
        count = draw(st.integers(0, 3))
        ids = [f"toolu_{round_number}_{number}" for number in range(count)]
        said = [TEXT] if draw(st.booleans()) or not ids else []
        messages.append(agent(*said, *[{**USE, "id": call} for call in ids]))
        after = [TEXT] if draw(st.booleans()) or not ids else []
        messages.append(user(*[{**RESULT, "tool_use_id": call} for call in draw(st.permutations(ids))], *after))
    return messages


@given(conversations())
def test_lawful_histories_pass(messages: list[dict[str, Any]]) -> None:
    assert check(body(*messages)) is None


@given(conversations(), st.data())
def test_one_result_taken_away_is_one_too_few(messages: list[dict[str, Any]], data: st.DataObject) -> None:
    places = [
        (number, position)
        for number, message in enumerate(messages)
        for position, block in enumerate(message["content"])
        if block["type"] == "tool_result"
    ]
    if not places:
        return
    number, position = data.draw(st.sampled_from(places))
    missing = messages[number]["content"].pop(position)
    if not messages[number]["content"]:
        messages[number]["content"].append(TEXT)
    assert missing["tool_use_id"] in words(body(*messages))
