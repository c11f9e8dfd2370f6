"""A yes through HTTP: double clicks, two tabs, late answers, drift, and what a revoked window leaves running."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nomos.bootstrap.core import open_core
from nomos.config import Settings
from nomos.store import hosts
from tests.harness import answers
from tests.harness.api import Answer
from tests.harness.lab import Lab, Talk, asks, proposes
from tests.harness.threads import all_fine

WAITS = answers.text("I wait.")
TABS = 20


def lines(path: Path) -> int:
    """How often the command ran that adds a line to this file."""
    return len(path.read_text().splitlines()) if path.exists() else 0


def waiting(lab: Lab, path: Path) -> Talk:
    """A session that waits for a yes to one command, which adds a line to a file."""
    return lab.talk("do", asks(lab.noting(path)), WAITS, answers.text("Seen."))


def until_ended(talk: Talk) -> Any:
    """Wait until no command of the session waits or runs; returns the snapshot."""
    going = {"waiting", "queued", "starting", "running"}
    return talk.api.until(talk.id, lambda s: not [e for e in s["executions"] if e["state"] in going], "the ends", 60)


def receipts(snapshot: Any) -> int:
    """How many windows have their receipt."""
    return sum(block.get("code") == "window_ended" for m in snapshot["messages"] for block in m["blocks"])


def test_a_question_shows_what_it_binds(lab: Lab) -> None:
    talk = waiting(lab, lab.file())
    approval = talk.api.pending(talk.id)
    target = lab.sshd.target()
    (host,) = approval["hosts"]
    assert (host["name"], host["user"], host["address"], host["port"]) == (
        "lab", target.user, target.address, target.port,
    )  # fmt: skip
    assert host["fingerprint"].startswith("SHA256:")
    assert approval["changed"] is None


def test_a_click_repeated_in_twenty_tabs_runs_it_once(lab: Lab) -> None:
    path = lab.file()
    talk = waiting(lab, path)
    approval = talk.api.pending(talk.id)
    given = all_fine([lambda: talk.api.decide(approval, scope="once") for _ in range(TABS)])
    assert {answer.status for answer in given} == {200}
    assert len({answer.json["decided_at"] for answer in given}) == 1
    until_ended(talk)
    assert lines(path) == 1


def test_of_two_answers_in_twenty_tabs_one_wins(lab: Lab) -> None:
    path = lab.file()
    talk = waiting(lab, path)
    approval = talk.api.pending(talk.id)
    verdicts = ["approve", "deny"] * (TABS // 2)

    def click(verdict: str) -> Answer:
        return talk.api.decide(approval, verdict)

    given = all_fine([lambda verdict=verdict: click(verdict) for verdict in verdicts])  # type: ignore[misc]
    assert Counter(answer.status for answer in given) == {200: TABS // 2, 409: TABS // 2}
    winners = {verdict for verdict, answer in zip(verdicts, given, strict=True) if answer.status == 200}
    assert len(winners) == 1
    refused = next(answer for answer in given if answer.status == 409)
    assert refused.json["code"] == "already_decided"
    until_ended(talk)
    assert lines(path) == (1 if winners == {"approve"} else 0)


@pytest.mark.parametrize("digest", ["0" * 64, "", None, 1, "approve"])
def test_only_what_was_shown_can_be_approved(lab: Lab, digest: object) -> None:
    path = lab.file()
    talk = waiting(lab, path)
    approval = talk.api.pending(talk.id)
    refused = talk.api.put(f"/approvals/{approval['id']}/decision", {"verdict": "approve", "digest": digest})
    assert refused.status == (409 if digest == "0" * 64 else 400)
    assert talk.api.pending(talk.id)["id"] == approval["id"]
    assert lines(path) == 0


def test_a_question_about_a_host_that_moved_is_asked_anew_with_what_changed(lab: Lab) -> None:
    path = lab.file()
    talk = waiting(lab, path)
    shown = talk.api.pending(talk.id)
    core = open_core(Settings.from_env(lab.stack.environment))
    with core.store.read() as connection:
        host = hosts.by_name(connection, "lab")
    assert host is not None
    try:
        moved_to = "localhost" if shown["hosts"][0]["address"] != "localhost" else "127.0.0.1"
        with core.store.write(core.clock.now()) as tx:
            hosts.change(tx, host.id, address=moved_to)
        refused = talk.api.decide(shown)
        assert (refused.status, refused.json["code"]) == (409, "digest_mismatch")
        assert f"is {moved_to}:" in refused.json["detail"]
        again = talk.api.pending(talk.id)
        assert again["id"] != shown["id"]
        assert f"is {moved_to}:" in again["changed"]
        assert talk.api.decide(shown).status == 410
        assert lines(path) == 0
        assert talk.api.decide(again, "deny").status == 200
    finally:
        with core.store.write(core.clock.now()) as tx:
            hosts.change(tx, host.id, address=host.address)
        core.store.close()


def test_a_plan_that_another_took_the_place_of_is_gone(lab: Lab) -> None:
    first, second = lab.file(), lab.file()
    talk = lab.talk("do", proposes(lab.noting(first)), WAITS, proposes(lab.noting(second)), WAITS)
    shown = talk.api.pending(talk.id)
    talk.until_turns(1)
    talk.say("another way, please")
    talk.until_turns(2)
    assert talk.api.decide(shown).status == 410
    snapshot = talk.snapshot
    assert snapshot["window"] is None
    assert (lines(first), lines(second)) == (0, 0)


def test_revoked_in_mid_plan_what_still_runs_is_named_and_can_be_stopped(lab: Lab) -> None:
    flag, never = lab.file(), lab.file()
    slow = f"echo on | tee -a {lab.file()}; {lab.until_file(flag, asynchronous=True)}"
    talk = lab.talk("do", proposes(slow, lab.noting(never)), WAITS, asks(slow), WAITS, asks(lab.noting(never)), WAITS)
    talk.approve(scope="plan")
    talk.api.until(talk.id, lambda s: [e for e in s["executions"] if e["state"] == "running"], "the first step")
    answer = talk.api.call("DELETE", f"/sessions/{talk.id}/window")
    assert answer.status == 200
    assert answer.json["window"]["open"] is False
    assert answer.json["window"]["ended_why"] == "revoked"
    (running,) = answer.json["still_running"]
    assert (running["command"], running["state"]) == (slow, "running")
    assert receipts(talk.snapshot) == 1
    assert talk.api.post(f"/executions/{running['id']}/cancellation").status == 202
    talk.api.until(talk.id, lambda s: s["executions"][0]["state"] == "cancelled", "its end")
    again = talk.api.call("DELETE", f"/sessions/{talk.id}/window")
    assert again.json["still_running"] == []
    talk.say("go on")
    talk.until_turns(3)
    assert talk.snapshot["executions"][-1]["state"] == "waiting"
    assert lines(never) == 0


def test_one_plan_asks_once(lab: Lab) -> None:
    paths = [lab.file() for _ in range(3)]
    steps = [lab.noting(path) for path in paths]
    talk = lab.talk("do", proposes(*steps), WAITS, *(asks(step) for step in steps), answers.text("All done."))
    talk.approve()
    talk.until_turns(2)
    until_ended(talk)
    assert [lines(path) for path in paths] == [1, 1, 1]
    assert len(talk.snapshot["approvals"]) == 1
