"""Commands on a real host: seen while they run, told once when they end, stopped when asked."""

from __future__ import annotations

import json
import time
from typing import Any

from tests.harness import answers
from tests.harness.lab import Lab, Talk, asks, calls_of, notices, proposes, turns
from tests.harness.sshd import command_lines
from tests.harness.wait import wait_for


def execution(talk: Talk, number: int = 0) -> Any:
    """One execution of a session."""
    return talk.snapshot["executions"][number]


def until_execution(talk: Talk, *states: str, number: int = 0) -> Any:
    """Wait for a state of one execution, and return it."""
    snapshot = talk.api.until(
        talk.id,
        lambda s: len(s["executions"]) > number and s["executions"][number]["state"] in states,
        f"execution {number} to be {' or '.join(states)}",
    )
    return snapshot["executions"][number]


def output(talk: Talk, number: int = 0) -> str:
    """The stored output of one execution."""
    return talk.api.get(f"/executions/{execution(talk, number)['id']}/output.txt").text


def events_told(request: Any) -> list[Any]:
    """The event messages in a request to the model, decoded; the receipts of windows apart."""
    found = []
    for message in request["messages"]:
        for part in message["content"]:
            text = str(part.get("text", ""))
            if message["role"] == "user" and text.startswith("Nomos event"):
                found.append(json.loads(text.partition(": ")[2]))
    return [event for event in found if event["event"] != "window_ended"]


def test_output_is_in_the_feed_while_the_command_runs(lab: Lab) -> None:
    flag = lab.file()
    talk = lab.talk("do", asks(lab.until_file(flag)), answers.text("I wait."), answers.text("Seen."))
    feed = talk.feed("?after=0")
    talk.approve()
    feed.until(lambda f: [piece["text"] for piece in f.of("execution.output")] == ["one\n"], "the first line")
    assert execution(talk)["state"] == "running"
    flag.touch()
    feed.until(lambda f: f.of("message.changed")[-1]["origin"] == "continuation", "the continuation")
    pieces = feed.of("execution.output")
    assert [(piece["offset"], piece["text"]) for piece in pieces] == [(0, "one\n"), (4, "two\n")]
    feed.cut()
    talk.until_turns(2)
    ended = execution(talk)
    assert (ended["state"], ended["exit_code"], ended["output_bytes"]) == ("succeeded", 0, 8)
    [told] = events_told(talk.requests[-1])
    assert (told["event"], told["output"], told["exit_code"]) == ("execution_ended", "one\ntwo\n", 0)


def test_stdout_and_stderr_in_order_and_the_exit_code(lab: Lab) -> None:
    command = f"{lab.changing}; echo a; echo b >&2; echo c; echo d >&2; (exit 7)"
    talk = lab.talk("do", asks(command), answers.text("I wait."), answers.text("It failed."))
    talk.approve()
    talk.until_turns(2)
    assert (execution(talk)["state"], execution(talk)["exit_code"]) == ("failed", 7)
    assert output(talk) == "a\nb\nc\nd\n"


def test_a_command_longer_than_the_turn_waits_becomes_asynchronous(lab: Lab) -> None:
    flag = lab.file()
    talk = lab.talk(
        "do", asks(lab.noting(lab.file())), answers.text("I wait."), asks(lab.until_file(flag)),
        answers.text("It runs."), answers.text("It ended."),
    )  # fmt: skip
    talk.approve(scope="window")
    [call] = calls_of(talk.until_turns(2)[-1])
    assert call["result"] == f"execution {execution(talk, 1)['id']} running"
    assert talk.snapshot["session"]["state"] == "working"
    flag.touch()
    message = talk.until_turns(3)[-1]
    assert message["origin"] == "continuation"
    assert execution(talk, 1)["continued_at"] is not None


def test_pct_create_is_always_asynchronous(lab: Lab) -> None:
    create = ("pct_create", {
        "host": "practice", "vmid": 140, "ostemplate": "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst",
        "hostname": "quick", "rootfs": "local-lvm:4", "reason": "a test asks for it",
    })  # fmt: skip
    command = f"pct create 140 {create[1]['ostemplate']} --hostname quick --rootfs local-lvm:4"
    talk = lab.talk(
        "do", proposes(command, host="practice"), answers.text("May I?"), answers.calls(create),
        answers.text("It is under way."), answers.text("It is there."),
    )  # fmt: skip
    talk.approve()
    message = talk.until_turns(3)[1]
    [call] = calls_of(message)
    assert call["result"].endswith(" running")
    assert message["origin"] == "decision"
    assert execution(talk)["command"] == command
    made = [made for made in lab.practice.host.calls() if made.words[:2] == ["create", "140"]]
    assert [made_.exit_code for made_ in made] == [0]


def test_executions_that_end_together_are_told_in_one_turn(lab: Lab) -> None:
    flag = lab.file()
    commands = [lab.until_file(flag, last=f"end {number}", asynchronous=True) for number in range(3)]
    talk = lab.talk("do", proposes(*commands), answers.text("May I?"), asks(*commands), answers.text("I wait."),
                    *[answers.text("More.")] * 3)  # fmt: skip
    talk.approve()
    talk.until_turns(2)
    flag.touch()
    talk.until_state("idle")
    ids = [e["id"] for e in talk.snapshot["executions"]]
    told = [event["execution"] for event in events_told(talk.requests[-1]) if event["event"] == "execution_ended"]
    assert sorted(told) == sorted(ids), "each result is told once, in all turns together"
    assert {e["continued_at"] is not None for e in talk.snapshot["executions"]} == {True}


def test_what_ends_during_a_turn_is_told_in_one_turn_afterwards(lab: Lab) -> None:
    flags = [lab.file(), lab.file()]
    held = lab.model.hold(answers.text("I wait."))
    commands = [lab.until_file(flag, asynchronous=True) for flag in flags]
    talk = lab.talk("do", proposes(*commands), answers.text("May I?"), asks(*commands), held, answers.text("Both."))
    talk.approve()
    wait_for(held.reached.is_set, 90, "the second answer")
    for flag in flags:
        flag.touch()
    for number in range(2):
        until_execution(talk, "succeeded", number=number)
    assert len(turns(talk.snapshot)) == 2, "one turn at a time"
    held.release()
    message = talk.until_turns(3)[-1]
    assert message["origin"] == "continuation"
    assert talk.until_state("idle")
    assert len(turns(talk.snapshot)) == 3
    told = [event for event in events_told(talk.requests[-1]) if event["event"] == "execution_ended"]
    assert len(told) == 2


def test_a_result_is_marked_continued_before_its_turn_asks_anything(lab: Lab) -> None:
    held = lab.model.hold(answers.text("Seen."), after=0)
    talk = lab.talk("do", asks(lab.noting(lab.file())), answers.text("I wait."), held)
    talk.approve()
    wait_for(held.reached.is_set, 90, "the continuation's question")
    snapshot = talk.snapshot
    assert snapshot["executions"][0]["continued_at"] is not None
    assert turns(snapshot)[-1]["status"] == "thinking"
    held.release()
    talk.until_turns(2)


def test_when_the_window_is_over_the_session_is_parked_and_goes_on_when_it_is_opened_again(lab: Lab) -> None:
    flag = lab.file()
    talk = lab.talk("do", asks(lab.until_file(flag)), answers.text("I wait."), answers.text("Seen."))
    talk.approve()
    until_execution(talk, "running")
    assert talk.api.call("DELETE", f"/sessions/{talk.id}/window").status == 200
    flag.touch()
    snapshot = talk.until_state("parked")
    assert snapshot["executions"][0]["state"] == "succeeded"
    assert len(turns(snapshot)) == 1, "the machine does not go on"
    assert output(talk) == "one\ntwo\n"
    answer = talk.api.put(f"/sessions/{talk.id}/window", {"minutes": 30})
    assert (answer.status, answer.json["window"]["open"]) == (200, True)
    assert talk.until_turns(2)[-1]["origin"] == "continuation"
    assert talk.until_state("idle")


def test_the_operators_word_goes_on_with_a_parked_session_too(lab: Lab) -> None:
    flag = lab.file()
    talk = lab.talk("do", asks(lab.until_file(flag)), answers.text("I wait."), answers.text("Seen."))
    talk.approve()
    until_execution(talk, "running")
    talk.api.call("DELETE", f"/sessions/{talk.id}/window")
    flag.touch()
    talk.until_state("parked")
    talk.say("what came out?")
    assert talk.until_turns(2)[-1]["origin"] == "operator"
    [told] = events_told(talk.requests[-1])
    assert told["output"] == "one\ntwo\n"


def test_a_denied_command_never_runs_and_the_agent_is_told(lab: Lab) -> None:
    path = lab.file()
    talk = lab.talk("do", asks(lab.noting(path)), answers.text("I wait."), answers.text("Then not."))
    answer = talk.api.decide(talk.api.pending(talk.id), "deny", note="leave it")
    assert answer.json["state"] == "denied"
    message = talk.until_turns(2)[-1]
    assert message["origin"] == "decision"
    assert execution(talk)["state"] == "denied"
    [told] = events_told(talk.requests[-1])
    assert (told["event"], told["verdict"], told["note"]) == ("approval_decided", "deny", "leave it")
    assert not path.exists()


def test_cancelled_is_said_only_once_the_process_has_ended(lab: Lab) -> None:
    mark = lab.file()
    command = (
        f"{lab.changing}; trap 'sleep 1; echo bye; exit 3' TERM; echo here; while :; do sleep 0.05; done; : {mark}"
    )
    talk = lab.talk("do", asks(command), answers.text("I wait."), answers.text("I see."))
    talk.approve()
    feed = talk.feed("?after=0")
    feed.until(lambda f: f.of("execution.output"), "its first line")
    answer = talk.api.post(f"/executions/{execution(talk)['id']}/cancellation")
    assert (answer.status, answer.json["state"]) == (202, "running")
    assert answer.json["cancel_requested_at"] is not None
    again = talk.api.post(f"/executions/{execution(talk)['id']}/cancellation")
    assert again.status == 202
    ended = until_execution(talk, "cancelled")
    assert ended["detail"]
    assert output(talk).startswith("here\n")
    assert output(talk).endswith("bye\n")
    wait_for(lambda: not any(str(mark) in line for line in command_lines().values()), 10, "the processes to be gone")
    feed.cut()
    assert talk.api.post(f"/executions/{execution(talk)['id']}/cancellation").status == 409
    talk.until_state("idle")


def test_stop_ends_turn_and_executions_and_nothing_goes_on_by_itself(lab: Lab) -> None:
    flag = lab.file()
    command = lab.until_file(flag, asynchronous=True)
    held = lab.model.hold(answers.text("Never read."))
    talk = lab.talk("do", proposes(command), answers.text("May I?"), asks(command), held,
                    answers.text("Here again."))  # fmt: skip
    talk.approve()
    wait_for(held.reached.is_set, 90, "the second answer")
    until_execution(talk, "running")
    began = time.monotonic()
    assert talk.api.post(f"/sessions/{talk.id}/stop", {"executions": True}).status == 202
    message = talk.until_turns(2)[-1]
    assert time.monotonic() - began < 5
    assert message["status"] == "stopped"
    assert notices(message)[-1]["code"] == "stopped"
    until_execution(talk, "cancelled")
    snapshot = talk.until_state("stopped")
    assert len(turns(snapshot)) == 2
    talk.say("go on then")
    assert talk.until_turns(3)[-1]["status"] == "done"
    assert not flag.exists()


def test_a_stopped_turn_leaves_its_executions_running_if_asked_so(lab: Lab) -> None:
    flag = lab.file()
    command = lab.until_file(flag, asynchronous=True)
    held = lab.model.hold(answers.text("Never read."))
    talk = lab.talk("do", proposes(command), answers.text("May I?"), asks(command), held,
                    answers.text("I see the result."))  # fmt: skip
    talk.approve()
    wait_for(held.reached.is_set, 90, "the second answer")
    talk.api.post(f"/sessions/{talk.id}/stop", {"executions": False})
    message = talk.until_turns(2)[-1]
    assert "1 command is still under way" in notices(message)[-1]["text"]
    flag.touch()
    assert until_execution(talk, "succeeded")["continued_at"] is None
    talk.until_state("stopped")
    assert len(turns(talk.snapshot)) == 2, "what was stopped wakes nobody"
    talk.say("and?")
    talk.until_turns(3)
    assert [event["output"] for event in events_told(talk.requests[-1]) if event["event"] == "execution_ended"] == [
        "one\ntwo\n"
    ]


def test_a_connection_that_is_killed_is_made_again_and_nothing_is_lost(lab: Lab) -> None:
    flag = lab.file()
    path = lab.file()
    command = f"{lab.noting(path)}; {lab.until_file(flag)}"
    talk = lab.talk("do", asks(command), answers.text("I wait."), answers.text("Seen."))
    talk.approve()
    talk.api.until(talk.id, lambda s: "one" in "".join(o["text"] for o in s["outputs"]), "the first line")
    assert lab.sshd.kill_connections() > 0
    talk.api.until(talk.id, lambda s: "lost" in (s["executions"][0]["detail"] or ""), "the card to say so")
    assert execution(talk)["state"] == "running", "a lost link says nothing about the command"
    flag.touch()
    talk.until_turns(2)
    assert (execution(talk)["state"], execution(talk)["detail"]) == ("succeeded", None)
    assert output(talk) == "ran\none\ntwo\n"
    assert path.read_text() == "ran\n"


def test_a_read_only_result_goes_on_without_a_window(lab: Lab) -> None:
    talk = lab.silent(asks("uptime"), answers.text("It takes its time."), answers.text("Seen."))
    lab.sshd.pause()
    try:
        talk.say(f"look ({talk.word})")
        [message] = talk.until_turns(1)
        assert calls_of(message)[0]["result"].endswith(" running")
    finally:
        lab.sshd.resume()
    message = talk.until_turns(2)[-1]
    assert message["origin"] == "continuation"
    assert talk.snapshot["window"] is None
    [told] = events_told(talk.requests[-1])
    assert "load average" in told["output"]
