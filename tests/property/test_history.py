"""Every request that a session can lead to is lawful, and what was answered once is never rewritten."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from nomos.agent.prompt import build
from nomos.agent.transcript import history, with_unique_ids
from nomos.domain.messages import Answer, Block, BlockKind, Message, MessageStatus, Origin, Role
from nomos.domain.replies import Reply
from nomos.domain.telling import INTERRUPTED_CALL
from nomos.domain.turns import NUDGE, judge
from nomos.rehearsal.model.lawful import check
from tests.harness.values import NOW

BLANKS = st.sampled_from(["", " ", "\n\n"])
WORDS = st.one_of(BLANKS, st.text(min_size=1, max_size=20))
CALL_IDS = st.sampled_from(["toolu_a", "toolu_b", "toolu_c", ""])  # few, so that models repeat themselves
TEXT = st.builds(lambda words: {"type": "text", "text": words}, WORDS)
CALL = st.builds(
    lambda call_id, command: {"type": "tool_use", "id": call_id, "name": "run", "input": {"command": command}},
    CALL_IDS, st.text(max_size=10),
)  # fmt: skip
CONTENT = st.lists(st.one_of(TEXT, CALL), max_size=4)
RESULTS = st.one_of(st.none(), WORDS)


@dataclass(slots=True)
class Talk:
    """A session that grows as the store's does, and every request that was made on the way."""

    messages: list[Message] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    answered: list[Sequence[Mapping[str, Any]]] = field(default_factory=list)
    failed: list[Sequence[Mapping[str, Any]]] = field(default_factory=list)

    def add(self, role: Role, status: MessageStatus, words: str | None = None) -> Message:
        number = len(self.messages) + 1
        blocks = () if words is None else (Block(f"t{number}", f"m{number}", 0, BlockKind.TEXT, text=words),)
        message = Message(f"m{number}", "s", number, role, Origin.OPERATOR, status, NOW, blocks=blocks)
        self.messages.append(message)
        return message

    def put(self, message: Message) -> None:
        self.messages[message.position - 1] = message

    def ask(self, turn: Message, nudge: str | None) -> Sequence[Mapping[str, Any]]:
        """The request for the next answer of a turn; it must be lawful."""
        past = [message for message in self.messages if message.position <= turn.position]
        request = build(past, self.answers, nudge=nudge)
        body = {
            "model": "m", "max_tokens": 1000, "system": request.system, "messages": list(request.messages),
            "tools": [{"name": "run", "input_schema": {"type": "object"}}],
        }  # fmt: skip
        refusal = check(body)
        assert refusal is None, refusal
        assert build(past, self.answers, nudge=nudge) == request, "the same rows give the same bytes"
        return request.messages

    def accept(
        self, turn: Message, content: Sequence[Mapping[str, Any]], results: list[str | None], nudge: str | None
    ) -> Message:
        step = sum(1 for answer in self.answers if answer.message_id == turn.id)
        raw = Reply(tuple(content), "tool_use", True, "m", closed=frozenset(range(len(content))))
        kept = with_unique_ids(raw, self.answers).content
        self.answers.append(Answer(turn.id, step, tuple(kept), "tool_use", nudge))
        calls = [part for part in kept if part["type"] == "tool_use"]
        blocks = [
            Block(
                f"{turn.id}b{step}.{index}", turn.id, len(turn.blocks) + index, BlockKind.TOOL_CALL, step=step,
                name=part["name"], call_id=part["id"], input=part["input"],
                result=results[index] if index < len(results) else None, is_error=index % 2 == 1,
            )
            for index, part in enumerate(calls)
        ]  # fmt: skip
        changed = dataclasses.replace(turn, status=MessageStatus.WORKING, blocks=(*turn.blocks, *blocks))
        self.put(changed)
        return changed

    def end(self, turn: Message, status: MessageStatus) -> None:
        """The turn ends: its open calls are closed, as the store does, and a notice is added that is never sent."""
        closed = tuple(
            dataclasses.replace(block, result=INTERRUPTED_CALL, is_error=True)
            if block.kind is BlockKind.TOOL_CALL and block.result is None else block
            for block in turn.blocks
        )  # fmt: skip
        notice = Block(f"{turn.id}n", turn.id, len(closed), BlockKind.NOTICE, text="a notice")
        self.put(dataclasses.replace(turn, status=status, blocks=(*closed, notice)))


STEP = st.tuples(
    CONTENT,
    st.lists(RESULTS, max_size=3),
    st.lists(st.booleans(), max_size=2),  # how often it is asked in vain first, and with words of Nomos's or without
    st.one_of(st.none(), WORDS),  # what the operator writes meanwhile
)
TURN = st.tuples(
    st.lists(st.tuples(st.sampled_from([Role.OPERATOR, Role.EVENT]), WORDS), max_size=3),
    st.lists(STEP, max_size=4),
    st.sampled_from([MessageStatus.DONE, MessageStatus.FAILED, MessageStatus.STOPPED]),
)


def play(turns: Sequence[Any]) -> Talk:
    """Let a session happen."""
    talk = Talk()
    for heard, steps, ending in turns:
        for role, words in heard:
            talk.add(role, MessageStatus.DONE, words)
        turn = talk.add(Role.AGENT, MessageStatus.THINKING)
        for content, results, tries, meanwhile in steps:
            nudge = None
            for changed in tries:
                talk.failed.append(talk.ask(turn, nudge))
                nudge = NUDGE.format(why="it held nothing") if changed else None
            request = talk.ask(turn, nudge)
            if meanwhile is not None:
                talk.add(Role.OPERATOR, MessageStatus.DONE, meanwhile)
            reply = Reply(
                tuple(content), "tool_use" if any(p["type"] == "tool_use" for p in content) else "end_turn", True, "m",
                closed=frozenset(range(len(content))),
            )  # fmt: skip
            if judge(reply) is not None:
                talk.failed.append(request)
                continue
            talk.answered.append(request)
            turn = talk.accept(turn, content, results, nudge)
            if reply.stop_reason == "end_turn":
                break
            # What is open is answered, or interrupted, before the model is asked again.
            turn = dataclasses.replace(
                turn, blocks=tuple(dataclasses.replace(b, result=b.result or "done") for b in turn.blocks)
            )
            talk.put(turn)
        talk.end(turn, ending)
    talk.ask(talk.add(Role.AGENT, MessageStatus.THINKING), None)
    return talk


@settings(max_examples=150)
@given(st.lists(TURN, max_size=5))
def test_every_request_is_lawful_and_the_answered_ones_are_only_added_to(turns: Sequence[Any]) -> None:
    talk = play(turns)
    final = history(talk.messages, talk.answers)
    for earlier, later in itertools.pairwise([*talk.answered, final]):
        assert list(later[: len(earlier)]) == list(earlier), "what the model has answered is never rewritten"
    for request in talk.failed:
        # Nobody answered its last message: that may still grow. All before stands.
        assert list(final[: len(request) - 1]) == list(request[:-1])


@settings(max_examples=100)
@given(st.lists(TURN, max_size=4))
def test_no_words_are_lost_or_said_twice(turns: Sequence[Any]) -> None:
    talk = play(turns)
    sent = [part["text"] for message in history(talk.messages, talk.answers) if message["role"] == "user"
            for part in message["content"] if part["type"] == "text"]  # fmt: skip
    for role in (Role.OPERATOR, Role.EVENT):
        said = [message.text.strip() for message in talk.messages if message.role is role and message.text.strip()]
        left = list(sent)
        for words in said:
            assert words in left
            left.remove(words)


@given(CONTENT, CONTENT)
def test_a_call_id_is_used_once(first: list[dict[str, Any]], second: list[dict[str, Any]]) -> None:
    before = with_unique_ids(Reply(tuple(first), "tool_use", True, "m"), [])
    after = with_unique_ids(Reply(tuple(second), "tool_use", True, "m"), [Answer("m", 0, before.content, "tool_use")])
    ids = [part["id"] for part in (*before.content, *after.content) if part["type"] == "tool_use"]
    assert len(ids) == len(set(ids))
    assert all(ids)
    for given_part, kept in zip((*first, *second), (*before.content, *after.content), strict=True):
        assert {**given_part, "id": None} == {**kept, "id": None}


def test_a_turn_without_any_words_before_it_has_an_opening() -> None:
    talk = Talk()
    request = talk.ask(talk.add(Role.AGENT, MessageStatus.THINKING), None)
    assert [message["role"] for message in request] == ["user"]
