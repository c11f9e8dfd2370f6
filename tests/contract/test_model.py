"""What the ``Model`` protocol promises, of the real SDK over real HTTP and of the scripted stand-in alike."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any, Protocol

import pytest

from nomos.domain.replies import Reply
from nomos.errors import FaultKind, ModelFault
from nomos.llm.anthropic_model import AnthropicModel
from nomos.llm.base import Model, ModelRequest, Piece
from nomos.llm.scripted import ScriptedAnswer, ScriptedModel, Silence, reply
from tests.harness import answers
from tests.harness.model_server import ScriptedModelServer

REQUEST = ModelRequest(
    "You help.", ({"role": "user", "content": "Hello."},), ({"name": "run", "input_schema": {"type": "object"}},)
)
WORDS: list[dict[str, Any]] = [{"type": "text", "text": "All is well, as far as I can see."}]
CALLS: list[dict[str, Any]] = [
    {"type": "text", "text": "Let me look."},
    {"type": "tool_use", "id": "toolu_1", "name": "run", "input": {"host": "practice", "command": "uptime"}},
    {"type": "tool_use", "id": "toolu_2", "name": "list_hosts", "input": {}},
]


class Stage(Protocol):
    """Makes a model with a script of whole answers, faults and silences."""

    def __call__(self, *script: Sequence[Mapping[str, Any]] | FaultKind | None) -> Model: ...


@pytest.fixture(params=["scripted", "anthropic"])
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    if request.param == "scripted":
        yield lambda *script: ScriptedModel([_scripted(part) for part in script], name="some-model")
        return
    with ScriptedModelServer() as server:

        def made(*script: Sequence[Mapping[str, Any]] | FaultKind | None) -> Model:
            server.add(*(_served(part) for part in script))
            return AnthropicModel("sk-test", server.url, "some-model")

        yield made
        assert not server.unlawful
        assert not server.unexpected


def _scripted(part: Sequence[Mapping[str, Any]] | FaultKind | None) -> ScriptedAnswer:
    if part is None:
        return Silence()
    return ModelFault(part, "scripted") if isinstance(part, FaultKind) else reply(*part)


def _served(part: Sequence[Mapping[str, Any]] | FaultKind | None) -> answers.Answer:
    if part is None:
        return answers.stall()
    if isinstance(part, FaultKind):
        return {FaultKind.TRANSIENT: answers.error(529), FaultKind.PERMANENT: answers.error(401)}[part]
    return answers.blocks(*part)


def never() -> bool:
    return False


def ask(model: Model, request: ModelRequest = REQUEST) -> tuple[Reply, list[Piece]]:
    heard: list[Piece] = []
    return model.stream(request, heard.append, never, first_try=False), heard


def test_it_knows_its_name(stage: Stage) -> None:
    assert stage().name == "some-model"


@pytest.mark.parametrize("blocks", [WORDS, CALLS, CALLS[1:], []], ids=["words", "both", "calls", "nothing"])
def test_the_reply_holds_the_blocks_as_they_came(stage: Stage, blocks: list[dict[str, Any]]) -> None:
    answer, _ = ask(stage(blocks))
    assert list(answer.content) == blocks
    assert answer.complete
    assert answer.closed == set(range(len(blocks)))
    assert answer.stop_reason == ("tool_use" if blocks[1:] or blocks == CALLS[1:] else "end_turn")
    assert answer.usage.output_tokens


@pytest.mark.parametrize("blocks", [WORDS, CALLS], ids=["words", "both"])
def test_the_pieces_are_the_reply_in_order(stage: Stage, blocks: list[dict[str, Any]]) -> None:
    _, heard = ask(stage(blocks))
    assert [piece.index for piece in heard] == sorted(piece.index for piece in heard)
    for index, block in enumerate(blocks):
        own = [piece for piece in heard if piece.index == index]
        if block["type"] == "text":
            assert "".join(piece.text for piece in own) == block["text"]
            assert {piece.kind for piece in own} == {"text"}
        else:
            assert [(piece.kind, piece.text) for piece in own] == [("tool_call", block["name"])]


def test_a_reply_can_be_sent_back_as_it_is(stage: Stage) -> None:
    model = stage(CALLS, WORDS)
    first, _ = ask(model)
    results = [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "fine"} for number in (1, 2)]
    history = (
        *REQUEST.messages,
        {"role": "assistant", "content": list(first.content)},
        {"role": "user", "content": results},
    )
    second, _ = ask(model, ModelRequest(REQUEST.system, history, REQUEST.tools))
    assert list(second.content) == WORDS


def test_the_request_is_left_as_it_was(stage: Stage) -> None:
    before = deepcopy(REQUEST)
    ask(stage(WORDS))
    assert before == REQUEST


@pytest.mark.parametrize("kind", [FaultKind.TRANSIENT, FaultKind.PERMANENT])
def test_what_goes_wrong_is_a_fault(stage: Stage, kind: FaultKind) -> None:
    with pytest.raises(ModelFault) as caught:
        ask(stage(kind))
    assert caught.value.kind is kind


def test_stop_before_anything_came(stage: Stage) -> None:
    with pytest.raises(ModelFault) as caught:
        stage(None).stream(REQUEST, lambda piece: None, lambda: True)
    assert caught.value.kind is FaultKind.STOPPED


def test_stop_while_nothing_comes(stage: Stage) -> None:
    asked: list[bool] = []

    def on_the_third_look() -> bool:
        asked.append(True)
        return len(asked) >= 3

    with pytest.raises(ModelFault) as caught:
        stage(None).stream(REQUEST, lambda piece: None, on_the_third_look)
    assert caught.value.kind is FaultKind.STOPPED


def test_what_on_piece_raises_goes_through(stage: Stage) -> None:
    def refuse(piece: Piece) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        stage(WORDS).stream(REQUEST, refuse, never)


def test_pieces_come_in_the_thread_that_asked(stage: Stage) -> None:
    threads: set[threading.Thread] = set()
    stage(WORDS).stream(REQUEST, lambda piece: threads.add(threading.current_thread()), never)
    assert threads == {threading.current_thread()}


def test_many_threads_may_ask_at_once(stage: Stage) -> None:
    script: list[list[Mapping[str, Any]]] = [[{"type": "text", "text": f"Answer {number}."}] for number in range(8)]
    model = stage(*script)
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: ask(model)[0], range(8)))
    assert {answer.content[0]["text"] for answer in replies} == {f"Answer {number}." for number in range(8)}
