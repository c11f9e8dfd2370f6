"""The main story, played on a running Nomos with the rehearsal's model and practice host."""

from __future__ import annotations

from collections import Counter
from typing import Any

from nomos.rehearsal.host.state import PctCall, Practice
from tests.harness.lab import OPEN, calls_of, turns, words_of
from tests.harness.stack import Stack

REQUEST = "give me a small Debian container called web, and check that it runs"
CREATED = ["create", "start", "status", "exec"]


def pct_calls(stack: Stack) -> list[PctCall]:
    """What the practice host's ``pct`` was called with."""
    return Practice(stack.home / "practice").calls()


def changing(calls: list[PctCall]) -> Counter[str]:
    """How often each call that changes something was made, by its text."""
    return Counter(" ".join(call.words) for call in calls if call.words[0] not in {"list", "status", "config", "exec"})


def settled(stack: Stack, session_id: str, state: str) -> Any:
    """Wait until the session is ``state`` and no turn runs; returns the snapshot."""
    return stack.api.until(
        session_id,
        lambda s: s["session"]["state"] == state and not any(m["status"] in OPEN for m in s["messages"]),
        f"the session to be {state}",
        120,
    )


def create(stack: Stack, session_id: str, *, by_chat: bool) -> Any:
    """Ask for the container, approve its plan, and wait for the end. Returns the snapshot."""
    before = len(pct_calls(stack))
    stack.api.say(session_id, REQUEST)
    snapshot = settled(stack, session_id, "waiting")
    assert not changing(pct_calls(stack)[before:]), "nothing was changed before the approval"
    assert [a["kind"] for a in snapshot["approvals"]] == ["plan"]
    if by_chat:
        stack.api.say(session_id, "go ahead")
    else:
        assert stack.api.decide(stack.api.pending(session_id)).status == 200
    snapshot = settled(stack, session_id, "done")
    last = turns(snapshot)[-1]
    assert calls_of(last)[-1]["input"]["outcome"] == "verified"
    assert "web" in words_of(last)
    made = changing(pct_calls(stack)[before:])
    assert [text.split()[0] for text in made] == ["create", "start"]
    assert set(made.values()) == {1}, "each command exactly once"
    return snapshot


def destroy(stack: Stack, session_id: str, *, try_chat: bool) -> Any:
    """Ask to destroy it, approve on the card, and wait for the end. Returns the snapshot."""
    before = len(pct_calls(stack))
    stack.api.say(session_id, "destroy it")
    settled(stack, session_id, "waiting")
    if try_chat:
        snapshot = stack.api.snapshot(session_id)
        stack.api.say(session_id, "go ahead")
        told = stack.api.until(
            session_id,
            lambda s: len(turns(s)) > len(turns(snapshot)) and turns(s)[-1]["status"] not in OPEN,
            "the answer",
        )
        assert told["session"]["state"] == "waiting"
        assert "not_approved_by_chat" in {block.get("code") for m in told["messages"] for block in m["blocks"]}
        assert "approval" in words_of(turns(told)[-1])
    assert not changing(pct_calls(stack)[before:]), "nothing was changed before the approval"
    assert stack.api.decide(stack.api.pending(session_id)).status == 200
    snapshot = settled(stack, session_id, "done")
    made = changing(pct_calls(stack)[before:])
    assert sorted(text.split()[0] for text in made) == ["destroy", "stop"]
    assert sorted(made.values()) == [1, 2], "destroy fails because it runs, then it is stopped once and destroyed"
    results = [call.exit_code for call in pct_calls(stack)[before:] if call.words[0] == "destroy"]
    assert results[0] not in {0, None}
    assert results[1] == 0
    return snapshot


def operators_words(snapshot: Any) -> list[str]:
    """Everything the operator said."""
    return [words_of(message) for message in snapshot["messages"] if message["role"] == "operator"]
