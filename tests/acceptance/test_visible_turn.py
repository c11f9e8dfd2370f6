"""A turn is seen call by call while it runs, in one message, placeholder first."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.harness import answers
from tests.harness.api import Feed
from tests.harness.lab import Lab, asks, calls_of, turns
from tests.harness.wait import wait_for

READS = ("uptime", "hostname", "df -h", "free -m", "uname -a")


def test_a_continuation_of_five_calls_is_seen_call_by_call_in_one_message(lab: Lab) -> None:
    done = lab.file()
    held = [lab.model.hold(asks(command)) for command in READS]
    talk = lab.silent(asks(lab.noting(done)), answers.text("I wait."), *held, answers.text("Seen."))
    feed = talk.feed("?after=0")
    talk.say(f"look ({talk.word})")
    talk.until_turns(1)
    talk.approve()
    message_ids: set[str] = set()
    for number, step in enumerate(held):
        wait_for(step.reached.is_set, 90, f"the question for call {number + 1}")
        feed.until(partial(_shows, number), f"exactly {number} calls and their results in the feed")
        message_ids.add(_agent_events(feed.events)[-1]["id"])
        step.release()
    talk.until_turns(2)
    feed.until(lambda f: _agent_events(f.events)[-1]["status"] == "done", "the end of the turn")
    _, second = turns(talk.snapshot)
    assert message_ids == {second["id"]}
    assert second["origin"] == "continuation"
    assert [call["input"]["command"] for call in calls_of(second)] == list(READS)
    own = [event for event in feed.events if event["type"] == "nomos.message.changed"]
    begun = [event["data"] for event in own if event["data"]["id"] == second["id"]]
    assert (begun[0]["status"], begun[0]["blocks"]) == ("thinking", []), "the placeholder came before any block"
    feed.cut()


def _shows(count: int, feed: Feed) -> bool:
    """Whether the continuation is shown with so many calls, each with its result."""
    shown = _agent_events(feed.events)[-1]
    results = [call["result"] or "" for call in calls_of(shown)]
    return shown["origin"] == "continuation" and len(results) == count and all("exit 0" in text for text in results)


def _agent_events(events: list[Any]) -> list[Any]:
    """Every state of agent messages that the feed told, blocks that came alone put into their message."""
    told: list[Any] = []
    current: dict[str, Any] = {}
    for event in events:
        data = event["data"]
        if event["type"] == "nomos.message.changed" and data["role"] == "agent":
            current[data["id"]] = data
        elif event["type"] == "nomos.block.changed" and data["message_id"] in current:
            message = current[data["message_id"]]
            others = [block for block in message["blocks"] if block["id"] != data["id"]]
            blocks = others if data.get("removed") else sorted([*others, data], key=lambda block: block["position"])
            current[data["message_id"]] = {**message, "blocks": blocks}
        else:
            continue
        told.append(current[data.get("message_id", data["id"])])
    return told
