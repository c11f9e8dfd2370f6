"""Undo, and the audit of it, through real processes."""

from __future__ import annotations

import json
import shlex
from typing import Any

from tests.harness import answers
from tests.harness.lab import Lab


def test_a_step_is_undone_from_its_card_and_all_of_it_is_in_the_audit(lab: Lab) -> None:
    mark = lab.file()
    do, undo = f"touch {shlex.quote(str(mark))}", f"mv {shlex.quote(str(mark))} /tmp/{mark.name}"
    plan = {"goal": "make it", "verify": "look", "steps": [{"host": "lab", "command": do, "why": "w", "undo": undo}]}
    talk = lab.talk(
        "do", answers.calls(("propose_plan", plan)), answers.text("Shall I?"),
        answers.calls(("run", {"host": "lab", "command": do, "reason": "the step"})), answers.text("Done."),
        answers.text("It is undone."),
    )  # fmt: skip
    talk.approve()
    talk.until_turns(2)
    [done] = talk.snapshot["executions"]
    assert (done["state"], done["undo"]) == ("succeeded", undo)
    assert mark.exists()

    answer = lab.api.post(f"/executions/{done['id']}/undo")
    assert answer.status == 201, answer.text
    asked = answer.json
    assert (asked["state"], asked["command"], asked["undoes"]) == ("waiting", undo, done["id"])
    assert mark.exists(), "nothing runs before it is approved"
    again = lab.api.post(f"/executions/{done['id']}/undo")
    assert again.status == 409
    talk.approve()
    talk.until_turns(3)
    assert not mark.exists()

    verified = lab.stack.cli("audit", "verify")
    assert verified.stdout.startswith("The audit holds:")
    lines = lab.stack.cli("audit", "export", "--json").stdout.splitlines()
    entries: list[Any] = [entry for line in lines if (entry := json.loads(line))["session"] == talk.id]
    decided = [entry for entry in entries if entry["deed"] == "approval_decided"]
    assert [(entry["who"], entry["route"], entry["address"]) for entry in decided] == [
        ("token", "api", "127.0.0.1"), ("token", "api", "127.0.0.1"),
    ]  # fmt: skip
    ended = [entry["facts"] for entry in entries if entry["deed"] == "execution_ended"]
    assert [(facts["command"], facts["exit"], facts["user"]) for facts in ended] == [
        (do, 0, ended[0]["user"]), (undo, 0, ended[0]["user"]),
    ]  # fmt: skip
    assert all(facts["host_key"].startswith("SHA256:") for facts in ended)
    assert {entry["route"] for entry in entries if entry["deed"] == "execution_ended"} == {"worker"}


def test_what_is_not_there_and_what_has_no_way_back(lab: Lab) -> None:
    assert lab.api.post("/executions/3b1c6f0e-0000-4000-8000-000000000001/undo").status == 404
    talk = lab.talk(
        "do", answers.calls(("run", {"host": "lab", "command": "uptime", "reason": "r"})), answers.text("Up.")
    )
    talk.until_turns(1)
    [read] = talk.snapshot["executions"]
    answer = lab.api.post(f"/executions/{read['id']}/undo")
    assert (answer.status, answer.json["code"]) == (409, "conflict")


def test_a_card_says_what_would_be_undone_and_offers_a_snapshot(lab: Lab) -> None:
    talk = lab.talk(
        "do", answers.calls(("run", {"host": "practice", "command": "pct set 105 --memory 512", "reason": "r"})),
        answers.text("I wait."), answers.text("No such guest."),
    )  # fmt: skip
    talk.until_state("waiting")
    approval = lab.api.pending(talk.id)
    assert approval["snapshot"] == {"choice": True, "words": "No snapshot is taken first."}
    talk.approve(snapshot=True)
    talk.until_turns(2)
    step, snapshot = sorted(talk.snapshot["executions"], key=lambda each: "snapshot" in each["command"])
    assert (snapshot["command"], snapshot["state"]) == (f"pct snapshot 105 nomos-{step['id'][:8]}", "failed")
    assert step["state"] == "withdrawn"
    assert step["detail"].startswith("Nothing was run: the snapshot before it failed")
