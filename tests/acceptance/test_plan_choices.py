"""Some of a plan, an edit, a departure from the plan: through HTTP, on a real host."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import answers
from tests.harness.answers import Answer
from tests.harness.lab import Lab, Talk, asks, proposes
from tests.harness.wait import wait_for

WAITS = answers.text("It waits for you.")


def edit(talk: Talk, approval: Any, command: str, *, step: int | None = None, digest: str | None = None) -> Any:
    """Edit what is asked; returns the answer."""
    what = "command" if step is None else f"steps/{step}"
    body = {"command": command, "digest": digest or approval["digest"]}
    return talk.api.put(f"/approvals/{approval['id']}/{what}", body)


def states(talk: Talk) -> dict[str, str]:
    """How each command of a session stands."""
    return {run["command"]: run["state"] for run in talk.snapshot["executions"]}


def test_a_step_that_was_left_out_does_not_run(lab: Lab) -> None:
    kept, left_out = lab.noting(lab.file()), f"mkdir {lab.file()}"
    talk = lab.talk("do", proposes(kept, left_out), WAITS, asks(kept, left_out), WAITS, answers.text("Denied, then."))
    talk.approve(scope="window", steps=[0])
    talk.until_turns(2)
    assert states(talk) == {kept: "succeeded", left_out: "waiting"}
    assert [step["approved"] for step in talk.snapshot["plan"]["steps"]] == [True, False]
    approval = talk.api.pending(talk.id)
    assert approval["drift"] == {
        "plan_id": talk.snapshot["plan"]["id"], "step": 1, "approved": None, "asked": left_out,
    }  # fmt: skip
    assert talk.api.decide(approval, "deny").status == 200
    talk.until_turns(3)
    assert states(talk)[left_out] == "denied"


def test_what_the_operator_edited_is_what_runs(lab: Lab) -> None:
    theirs, mine = lab.file(), lab.file()
    talk = lab.talk("do", asks(f"touch {theirs}"), WAITS, answers.text("I see that you edited it."))
    approval = talk.api.pending(talk.id)
    edited = edit(talk, approval, f"touch {mine}")
    assert (edited.status, edited.json["command"], edited.json["risk"]) == (200, f"touch {mine}", "change")
    assert edited.json["digest"] != approval["digest"]
    refused = talk.api.decide(approval)
    assert (refused.status, refused.json["code"]) == (409, "digest_mismatch")
    assert edit(talk, approval, "reboot").status == 409
    assert talk.api.decide(edited.json, scope="once").status == 200
    talk.until_turns(2)
    assert mine.exists()
    assert not theirs.exists()
    (run,) = talk.snapshot["executions"]
    assert (run["command"], run["asked"]) == (f"touch {mine}", f"touch {theirs}")
    assert f'"you_asked_for": "touch {theirs}"' in str(talk.requests[-1]["messages"]).replace("\\\\", "")


def test_an_edited_step_asks_anew_and_runs_as_edited(lab: Lab) -> None:
    first, second, third = (f"touch {lab.file()}" for _ in range(3))
    talk = lab.talk("do", proposes(first, second), WAITS, asks(first, third), answers.text("Both are done."))
    approval = talk.api.pending(talk.id)
    assert edit(talk, approval, third, step=2).status == 404
    edited = edit(talk, approval, third, step=1)
    assert edited.status == 200
    step = talk.snapshot["plan"]["steps"][1]
    assert (step["command"], step["edited"], step["asked"], step["approved"]) == (third, True, second, False)
    assert talk.api.decide(approval).status == 409
    assert talk.api.decide(edited.json, scope="plan").status == 200
    talk.until_turns(2)
    assert states(talk) == {first: "succeeded", third: "succeeded"}


def test_a_departure_from_the_plan_asks_and_says_from_which_step(lab: Lab) -> None:
    planned, other = f"touch {lab.file()}", f"touch {lab.file()}"
    talk = lab.talk("do", proposes(planned), WAITS, asks(other), WAITS, answers.text("Done."))
    talk.approve(scope="plan")
    talk.until_turns(2)
    approval = talk.api.pending(talk.id)
    assert (approval["drift"]["step"], approval["drift"]["approved"], approval["drift"]["asked"]) == (0, planned, other)
    assert approval["risk_why"]
    talk.approve()
    wait_for(lambda: states(talk)[other] == "succeeded", 20, "the command to end")
    talk.until_turns(3)


@pytest.fixture
def asked(lab: Lab) -> Talk:
    """A session in which a plan of two steps waits."""
    script: tuple[Answer, ...] = (proposes(f"touch {lab.file()}", f"touch {lab.file()}"), WAITS)
    talk = lab.talk("do", *script)
    talk.until_turns(1)
    return talk


@pytest.mark.parametrize("steps", [[], [2], [-1], ["0"], [0.5], "all", [[0]], {"0": True}])
def test_what_names_no_steps_is_never_a_yes(asked: Talk, steps: object) -> None:
    approval = asked.api.pending(asked.id)
    assert asked.api.decide(approval, steps=steps).status == 400
    assert asked.api.decide(approval, "deny", steps=[0]).status == 400
    assert asked.api.pending(asked.id)["id"] == approval["id"]


@pytest.mark.parametrize(
    "body", [{}, {"command": "uptime"}, {"command": "", "digest": "0" * 64}, {"command": 5, "digest": "0" * 64},
             {"command": "uptime", "digest": "0" * 64, "risk": "read"}, {"command": "x" * 8193, "digest": "0" * 64}],
)  # fmt: skip
def test_an_edit_that_does_not_fit_changes_nothing(asked: Talk, body: object) -> None:
    approval = asked.api.pending(asked.id)
    assert asked.api.put(f"/approvals/{approval['id']}/steps/0", body).status == 400
    assert asked.api.pending(asked.id) == approval
