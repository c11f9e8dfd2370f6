"""The rehearsal model as it is used: a server, asked with the real SDK."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nomos.errors import FaultKind, ModelFault
from nomos.llm.anthropic_model import AnthropicModel
from nomos.llm.base import ModelRequest, Piece
from nomos.rehearsal.model.protocol import Say
from nomos.rehearsal.model.scenarios import MODEL_NAME, RehearsalModel
from tests.harness.table import Ask, Table

HELLO: tuple[dict[str, Any], ...] = ({"role": "user", "content": "Hello."},)


@pytest.fixture
def rehearsal() -> Iterator[RehearsalModel]:
    server = RehearsalModel(tokens_per_second=0)
    server.start()
    yield server
    server.stop()


def asking(url: str) -> Ask:
    model = AnthropicModel("rehearsal", url, MODEL_NAME)

    def ask(request: Mapping[str, Any]) -> Say:
        asked = ModelRequest(request["system"], tuple(request["messages"]), ())
        reply = model.stream(asked, lambda piece: None, lambda: False)
        assert reply.complete
        assert reply.model == MODEL_NAME
        assert reply.usage.input_tokens
        return Say(reply.content, reply.stop_reason)

    return ask


def test_the_whole_story_over_http(rehearsal: RehearsalModel, tmp_path: Path) -> None:
    table = Table(tmp_path, asking(rehearsal.url))
    table.say("give me a small Debian container called web, and check that it runs")
    table.decide("approve")
    table.land()
    assert table.concluded
    table.say("destroy it")
    table.decide("approve")
    assert table.concluded
    assert "web" not in table.guest_names()
    assert not rehearsal.refusals
    assert len(rehearsal.requests) == table.answers


def test_a_restart_of_the_model_changes_nothing(tmp_path: Path) -> None:
    first = RehearsalModel(tokens_per_second=0)
    first.start()
    table = Table(tmp_path, asking(first.url))
    table.say("create a container called db, and check that it runs")
    first.stop()
    second = RehearsalModel(tokens_per_second=0)
    second.start()
    table.ask = asking(second.url)
    table.decide("approve")
    table.land()
    second.stop()
    assert table.concluded
    assert "db" in table.guest_names()


def test_it_speaks_at_its_pace() -> None:
    server = RehearsalModel(tokens_per_second=200)
    server.start()
    heard: list[tuple[float, Piece]] = []
    model = AnthropicModel("rehearsal", server.url, MODEL_NAME)
    reply = model.stream(
        ModelRequest("", HELLO, ()), lambda piece: heard.append((time.monotonic(), piece)), lambda: False
    )
    server.stop()
    assert "".join(piece.text for _, piece in heard) == reply.content[0]["text"]
    assert heard[-1][0] - heard[0][0] > 0.9 * (len(heard) - 1) / 200


def test_an_unlawful_request_is_refused_as_the_cloud_refuses_it(rehearsal: RehearsalModel) -> None:
    model = AnthropicModel("rehearsal", rehearsal.url, MODEL_NAME)
    history = (*HELLO, {"role": "assistant", "content": "Hello to you."})
    with pytest.raises(ModelFault) as caught:
        model.stream(ModelRequest("", history, ()), lambda piece: None, lambda: False)
    assert caught.value.kind is FaultKind.PERMANENT
    assert "must end with a user message" in caught.value.detail
    assert len(rehearsal.refusals) == 1


def test_another_key_is_refused() -> None:
    server = RehearsalModel(tokens_per_second=0, api_key="right")
    server.start()
    with pytest.raises(ModelFault) as caught:
        AnthropicModel("wrong", server.url, MODEL_NAME).stream(
            ModelRequest("", HELLO, ()), lambda piece: None, lambda: False
        )
    server.stop()
    assert caught.value.status == 401
