"""What single parts of a request must look like: fields, types, names, texts. Pure; ``lawful`` checks the whole."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_NAME = r"^[a-zA-Z0-9_-]{1,64}$"
_CALL_ID = r"^[a-zA-Z0-9_-]+$"
_MOST_MESSAGES = 100_000

_REQUEST = frozenset(
    [
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "stream",
        "stop_sequences",
        "metadata",
        "thinking",
        "cache_control",
        "output_config",
        "service_tier",
        "container",
        "context_management",
        "diagnostics",
        "inference_geo",
        "speed",
    ]
)
_BLOCKS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    # kind: (fields that must be there, fields that may be)
    "text": (frozenset({"text"}), frozenset({"cache_control", "citations"})),
    "image": (frozenset({"source"}), frozenset({"cache_control"})),
    "document": (frozenset({"source"}), frozenset({"cache_control", "citations", "context", "title"})),
    "thinking": (frozenset({"thinking", "signature"}), frozenset()),
    "redacted_thinking": (frozenset({"data"}), frozenset()),
    "tool_use": (frozenset({"id", "name", "input"}), frozenset({"cache_control", "caller", "toolset_name"})),
    "tool_result": (frozenset({"tool_use_id"}), frozenset({"content", "is_error", "cache_control", "toolset_name"})),
}
_IN_ROLE = {
    "user": frozenset({"text", "image", "document", "tool_result"}),
    "assistant": frozenset({"text", "thinking", "redacted_thinking", "tool_use"}),
}
_IN_RESULT = frozenset({"text", "image", "document"})


class Unlawful(Exception):
    """Carries the words of a refusal out of the checks."""


def check_surrogates(body: Any) -> None:
    """Every string must be text that UTF-8 can carry."""
    for text in _strings(body):
        if re.search("[\ud800-\udfff]", text):
            raise Unlawful("The request body is not valid JSON: no low surrogate in string")


def check_request(body: Any) -> None:
    """The fields beside the messages."""
    if not isinstance(body, dict):
        raise Unlawful("Input should be an object")
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            raise Unlawful(f"{name}: Field required")
    for name in body:
        if name not in _REQUEST:
            raise Unlawful(f"{name}: Extra inputs are not permitted")
    if not isinstance(body["model"], str) or not body["model"]:
        raise Unlawful("model: String should have at least 1 character")
    if not _is_int(body["max_tokens"]) or body["max_tokens"] < 1:
        raise Unlawful("max_tokens: Input should be greater than or equal to 1")
    _check_system(body.get("system", ""))
    _check_tools(body.get("tools", []))
    if not isinstance(body["messages"], list):
        raise Unlawful("messages: Input should be a valid list")
    if not body["messages"]:
        raise Unlawful("messages: at least one message is required")
    if len(body["messages"]) > _MOST_MESSAGES:
        raise Unlawful(f"messages: List should have at most {_MOST_MESSAGES} items")


def _check_system(system: Any) -> None:
    if isinstance(system, str):
        return
    if not isinstance(system, list):
        raise Unlawful("system: Input should be a valid string or list")
    for number, block in enumerate(system):
        _check_block(f"system.{number}", block, frozenset({"text"}))


def _check_tools(tools: Any) -> None:
    if not isinstance(tools, list):
        raise Unlawful("tools: Input should be a valid list")
    names: set[str] = set()
    for number, tool in enumerate(tools):
        place = f"tools.{number}.custom"
        if not isinstance(tool, dict):
            raise Unlawful(f"tools.{number}: Input should be an object")
        for name in ("name", "input_schema"):
            if name not in tool:
                raise Unlawful(f"{place}.{name}: Field required")
        allowed = {"type", "name", "description", "input_schema", "cache_control", "strict", "eager_input_streaming"}
        for name in tool.keys() - allowed:
            raise Unlawful(f"{place}.{name}: Extra inputs are not permitted")
        _check_pattern(f"{place}.name", tool["name"], _NAME)
        if not isinstance(tool["input_schema"], dict) or tool["input_schema"].get("type") != "object":
            raise Unlawful(f"{place}.input_schema.type: Input should be 'object'")
        if tool["name"] in names:
            raise Unlawful("tools: Tool names must be unique.")
        names.add(tool["name"])


def check_order(messages: Sequence[Any]) -> None:
    """Roles: known ones, the user first and last."""
    for number, message in enumerate(messages):
        if not isinstance(message, dict):
            raise Unlawful(f"messages.{number}: Input should be an object")
        for name in ("role", "content"):
            if name not in message:
                raise Unlawful(f"messages.{number}.{name}: Field required")
        for name in message.keys() - {"role", "content"}:
            raise Unlawful(f"messages.{number}.{name}: Extra inputs are not permitted")
        if not isinstance(message["role"], str) or message["role"] not in _IN_ROLE:
            raise Unlawful(f'messages: Unexpected role "{message["role"]}". Allowed roles are "user" or "assistant".')
    if messages[0]["role"] != "user":
        raise Unlawful('messages: first message must use the "user" role')
    if messages[-1]["role"] != "user":
        raise Unlawful(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def check_message(number: int, message: Mapping[str, Any]) -> None:
    """One message's content, block by block."""
    place, role, content = f"messages.{number}", message["role"], message["content"]
    if content in ("", []):
        raise Unlawful(
            f"{place}: all messages must have non-empty content except for the optional final assistant message"
        )
    if isinstance(content, str):
        _check_text(content)
        return
    if not isinstance(content, list):
        raise Unlawful(f"{place}.content: Input should be a valid string or list")
    for position, block in enumerate(content):
        _check_block(f"{place}.content.{position}", block, _IN_ROLE[role], role)
    if role == "assistant" and content[-1]["type"] in {"thinking", "redacted_thinking"}:
        raise Unlawful(f"{place}: The final block in an assistant message cannot be `thinking`.")


def _check_block(place: str, block: Any, kinds: frozenset[str], role: str = "") -> None:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise Unlawful(f"{place}: Input should be an object with a type")
    kind = block["type"]
    if kind not in _BLOCKS:
        expected = ", ".join(repr(name) for name in sorted(_BLOCKS))
        raise Unlawful(
            f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {expected}"
        )
    if kind not in kinds:
        other = "user" if role == "assistant" else "assistant"
        raise Unlawful(f"{place}: `{kind}` blocks can only be in `{other}` messages")
    required, optional = _BLOCKS[kind]
    for name in sorted(required - block.keys()):
        raise Unlawful(f"{place}.{kind}.{name}: Field required")
    for name in sorted(block.keys() - required - optional - {"type"}):
        raise Unlawful(f"{place}.{kind}.{name}: Extra inputs are not permitted")
    if kind == "text":
        if block["text"] == "" and block.get("cache_control"):
            raise Unlawful(f"{place}.text: cache_control cannot be set for empty text blocks")
        _check_text(block["text"])
    elif kind == "tool_use":
        _check_pattern(f"{place}.tool_use.id", block["id"], _CALL_ID)
        _check_pattern(f"{place}.tool_use.name", block["name"], _NAME)
        if not isinstance(block["input"], dict):
            raise Unlawful(f"{place}.tool_use.input: Input should be a valid dictionary")
    elif kind == "tool_result":
        _check_result(place, block)


def _check_result(place: str, block: Mapping[str, Any]) -> None:
    _check_pattern(f"{place}.tool_result.tool_use_id", block["tool_use_id"], _CALL_ID)
    if not isinstance(block.get("is_error", False), bool):
        raise Unlawful(f"{place}.tool_result.is_error: Input should be a valid boolean")
    content = block.get("content", "")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise Unlawful(f"{place}.tool_result.content: Input should be a valid string or list")
    for position, part in enumerate(content):
        _check_block(f"{place}.tool_result.content.{position}", part, _IN_RESULT)


def _check_text(text: Any) -> None:
    if not isinstance(text, str):
        raise Unlawful("messages: text: Input should be a valid string")
    if text == "":
        raise Unlawful("messages: text content blocks must be non-empty")
    if not text.strip():
        raise Unlawful("messages: text content blocks must contain non-whitespace text")


def _check_pattern(place: str, value: Any, pattern: str) -> None:
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise Unlawful(f"{place}: String should match pattern '{pattern}'")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _strings(name)
            yield from _strings(part)
    elif isinstance(value, list):
        for part in value:
            yield from _strings(part)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
