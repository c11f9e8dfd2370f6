"""Our messages ↔ the Messages API's. Pure and deterministic: a longer history begins with the shorter one's bytes."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nomos.domain.messages import Answer, Block, BlockKind, Message, Role
from nomos.domain.replies import Reply
from nomos.domain.telling import INTERRUPTED_CALL

_TAKEN_BACK = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
_OPENING = "Nomos to the agent: the session goes on."


def history(
    messages: Sequence[Message], answers: Sequence[Answer], *, nudge: str | None = None
) -> tuple[Mapping[str, Any], ...]:
    """The lawful history of a session: ends with the operator's side, answers every call in the very next message.

    :param messages: in order, up to and with the agent message whose turn runs. :param answers: every stored answer.
    :param nudge: words of Nomos to add at the end for this one question.
    """
    by_message: dict[str, list[Answer]] = {}
    for answer in answers:
        by_message.setdefault(answer.message_id, []).append(answer)
    talk = _Talk()
    for message in messages:
        if message.role is Role.OPERATOR:
            talk.hear(talk.words, message.text)
        elif message.role is Role.EVENT:
            talk.hear(talk.events, message.text)
        for answer in by_message.get(message.id, ()):
            content = _sendable(answer.content)
            if content:
                talk.hear(talk.words, answer.nudge or "")
                talk.answer(content)
                talk.results.extend(_results(content, message.blocks, answer.step))
    talk.hear(talk.words, nudge or "")
    return talk.ask()


@dataclasses.dataclass(slots=True)
class _Talk:
    """The API's messages so far, and what the next one of the user's side will hold."""

    out: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    results: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    events: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    words: list[dict[str, Any]] = dataclasses.field(default_factory=list)

    def hear(self, side: list[dict[str, Any]], text: str) -> None:
        """Add a text to the user's side; blank ones are refused by the service."""
        if text.strip():
            side.append(_text(text.strip()))

    def ask(self) -> tuple[Mapping[str, Any], ...]:
        """All messages, ending with the user's side: results first, text after them, the operator's own words last."""
        user = [*self.results, *self.events, *self.words]
        if not user and (not self.out or self.out[-1]["role"] == "assistant"):
            user = [_text(_OPENING)]
        for side in (self.results, self.events, self.words):
            side.clear()
        if user:
            self.out.append({"role": "user", "content": user})
        return tuple(self.out)

    def answer(self, content: Iterable[Mapping[str, Any]]) -> None:
        """Add an answer of the model after what it answers."""
        self.ask()
        self.out.append({"role": "assistant", "content": list(content)})


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _sendable(content: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The raw blocks that the service takes back: it may send blank text, and kinds of its own, and refuses both."""
    return [
        part
        for part in content
        if part.get("type") in _TAKEN_BACK and (part.get("type") != "text" or str(part.get("text") or "").strip())
    ]


def _results(content: Iterable[Mapping[str, Any]], blocks: Sequence[Block], step: int) -> list[dict[str, Any]]:
    """One result for each call of an answer, in its order; a call without a stored one was interrupted."""
    stored = {block.call_id: block for block in blocks if block.kind is BlockKind.TOOL_CALL and block.step == step}
    results = []
    for part in content:
        if part.get("type") != "tool_use":
            continue
        block = stored.get(str(part.get("id")))
        open_call = block is None or block.result is None
        text = INTERRUPTED_CALL if block is None or block.result is None else block.result
        result: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": part.get("id"),
            "content": [_text(text if text.strip() else "(no output)")],
        }
        if open_call or (block is not None and block.is_error):
            result["is_error"] = True
        results.append(result)
    return results


def with_unique_ids(reply: Reply, answers: Iterable[Answer]) -> Reply:
    """The reply with fresh ids for calls whose id was used before: a second use would be refused for ever after."""
    seen = {part.get("id") for answer in answers for part in answer.content if part.get("type") == "tool_use"}
    content: list[Mapping[str, Any]] = []
    for part in reply.content:
        used = part.get("type") == "tool_use" and (part.get("id") in seen or not part.get("id"))
        own = {**part, "id": f"toolu_{uuid.uuid4().hex[:24]}"} if used else part
        seen.add(own.get("id"))
        content.append(own)
    return dataclasses.replace(reply, content=tuple(content))
