"""The main story: the operator asks, approves once, and nobody types "continue"."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.lab import turns
from tests.harness.stack import Stack
from tests.harness.story import REQUEST, create, destroy, operators_words


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("story")) as running:
        yield running


def test_by_chat_with_no_word_after_each_approval(stack: Stack) -> None:
    session_id = stack.api.new_session()
    snapshot = create(stack, session_id, by_chat=True)
    assert operators_words(snapshot) == [REQUEST, "go ahead"]
    assert [a["route"] for a in snapshot["approvals"]] == ["chat"]
    assert "continuation" in {message["origin"] for message in turns(snapshot)}
    snapshot = destroy(stack, session_id, try_chat=True)
    assert operators_words(snapshot) == [REQUEST, "go ahead", "destroy it", "go ahead"]
    assert [a["route"] for a in snapshot["approvals"]] == ["chat", "api"], "destruction is never approved by chat"


def test_by_the_api_with_no_word_after_each_approval(stack: Stack) -> None:
    session_id = stack.api.new_session()
    snapshot = create(stack, session_id, by_chat=False)
    assert operators_words(snapshot) == [REQUEST]
    assert snapshot["window"]["open"]
    create_ = next(e for e in snapshot["executions"] if e["command"].startswith("pct create"))
    assert create_["state"] == "succeeded"
    assert create_["continued_at"] is not None
    snapshot = destroy(stack, session_id, try_chat=False)
    assert operators_words(snapshot) == [REQUEST, "destroy it"]
    assert not [message for message in turns(snapshot) if message["status"] != "done"]
