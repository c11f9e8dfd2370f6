"""Refuses what the cloud refuses, in its words. Pure.

Sources: the API's error reference, its 2026-10-21 version, and the 400s that agents in the field have met. Servers that
merely speak the same protocol accept nearly all of this, so only this check stands between a history that works at
home and one that fails in the cloud.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nomos.rehearsal.model.protocol import digest
from nomos.rehearsal.model.shapes import Unlawful, check_message, check_order, check_request, check_surrogates

_SIGNED = "rehearsal."
_MOST_CACHE_MARKS = 4


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused: the message of the error, its type on the wire, its status."""

    message: str
    kind: str = "invalid_request_error"
    status: int = 400


def check(body: Any) -> Refusal | None:
    """Return why the cloud would refuse ``body``, a decoded request, or None where it would not."""
    try:
        check_surrogates(body)
        check_request(body)
        messages = body["messages"]
        check_order(messages)
        for number, message in enumerate(messages):
            check_message(number, message)
        _check_pairs(messages)
        _check_cache_marks(body)
        _check_signatures(body)
    except Unlawful as unlawful:
        return Refusal(str(unlawful))
    return None


def sign(body: Mapping[str, Any], blocks: Sequence[Mapping[str, Any]], thinking: str) -> str:
    """Return the signature of a thinking block that follows ``blocks`` in the answer to ``body``.

    It binds the block to everything before it, as the cloud's does: system, tools, messages.
    """
    return _SIGNED + digest([_before(body, body["messages"], blocks), thinking])


def _check_pairs(messages: Sequence[Mapping[str, Any]]) -> None:
    # Neighbours of one role are merged only after this: all results have to stand in the very next message.
    seen: set[str] = set()
    open_calls: list[str] = []
    for number, message in enumerate(messages):
        content = _as_blocks(message["content"])
        results = content if message["role"] == "user" else []
        _check_results(number, results, open_calls)
        open_calls = [block["id"] for block in content if block["type"] == "tool_use"]
        for position, call in enumerate(open_calls):
            if call in seen or call in open_calls[:position]:
                raise Unlawful(f"messages.{number}: `tool_use` ids must be unique")
        seen.update(open_calls)


def _check_results(number: int, content: Sequence[Mapping[str, Any]], open_calls: Sequence[str]) -> None:
    answered: list[str] = []
    first_other = len(content)
    for position, block in enumerate(content):
        if block["type"] != "tool_result":
            first_other = min(first_other, position)
            continue
        call = block["tool_use_id"]
        if call not in open_calls:
            raise Unlawful(
                f"messages.{number}.content.{position}: unexpected `tool_use_id` found in `tool_result` blocks: "
                f"{call}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
        if call in answered:
            raise Unlawful(
                f"messages.{number}.content.{position}: each tool_use must have a single result. "
                f"Found multiple `tool_result` blocks with id: {call}"
            )
        # A result after other content is not counted as one: results have to come first.
        if position < first_other:
            answered.append(call)
    missing = [call for call in open_calls if call not in answered]
    if missing:
        raise Unlawful(
            f"messages.{number - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: "
            f"{', '.join(missing)}. "
            "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
        )


def _check_cache_marks(body: Mapping[str, Any]) -> None:
    marks = sum(1 for _ in _marks(body))
    if marks > _MOST_CACHE_MARKS:
        raise Unlawful(f"A maximum of {_MOST_CACHE_MARKS} blocks with cache_control may be provided. Found {marks}.")


def _check_signatures(body: Mapping[str, Any]) -> None:
    merged = _merged(body["messages"])
    for number, message in enumerate(merged):
        for position, block in enumerate(message["content"]):
            if block["type"] != "thinking":
                continue
            place = f"messages.{number}.content.{position}"
            signature = block["signature"]
            if not isinstance(signature, str) or not signature.startswith(_SIGNED):
                raise Unlawful(f"{place}: Invalid `signature` in `thinking` block")
            before = _before(body, merged[:number], message["content"][:position])
            if signature != _SIGNED + digest([before, block["thinking"]]):
                raise Unlawful(
                    f"{place}: Invalid `signature` in `thinking` block: it is bound to a different conversation. "
                    "Thinking blocks must be sent back unmodified, after exactly what came before them."
                )


def _before(body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], blocks: Sequence[Mapping[str, Any]]) -> Any:
    """Return all that a thinking block is bound to, in one form whatever the spelling."""
    return _unmarked([_as_blocks(body.get("system") or []), body.get("tools") or [], _merged(messages), list(blocks)])


def _merged(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages as the API reads them: neighbours of one role are one message, text is a block."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        content = _as_blocks(message["content"])
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"].extend(content)
        else:
            merged.append({"role": message["role"], "content": content})
    return merged


def _as_blocks(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _unmarked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _unmarked(part) for name, part in value.items() if name != "cache_control"}
    return [_unmarked(part) for part in value] if isinstance(value, list) else value


def _marks(body: Mapping[str, Any]) -> Iterator[Any]:
    if body.get("cache_control"):
        yield body["cache_control"]
    places: list[Any] = [body.get("system"), body.get("tools"), *(message["content"] for message in body["messages"])]
    for place in places:
        for block in place if isinstance(place, list) else ():
            if block.get("cache_control"):
                yield block["cache_control"]
