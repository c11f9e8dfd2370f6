"""A command that asks: the card and the agent are told, and a line of the operator's reaches it."""

from __future__ import annotations

from tests.acceptance.test_executions import events_told, execution, output, until_execution
from tests.harness import answers
from tests.harness.lab import Lab, asks, turns

ASKS = "printf 'Do you want to continue? [Y/n] '; read -r reply; echo \"got $reply\""


def test_a_question_is_told_and_answered_once(lab: Lab) -> None:
    talk = lab.talk(
        "do", asks(f"{lab.changing}; {ASKS}"), answers.text("I wait."), answers.text("It asks."), answers.text("Done.")
    )
    talk.approve()
    talk.api.until(talk.id, lambda s: s["executions"][0]["question"], "the question to be seen")
    talk.until_turns(2)
    [told] = events_told(talk.requests[-1])
    assert (told["event"], told["question"]) == ("execution_asks", "Do you want to continue? [Y/n]")
    assert execution(talk)["state"] == "running"
    address = f"/executions/{execution(talk)['id']}/input"
    assert talk.api.post(address, {"text": "two\nlines"}).status == 400
    assert talk.api.post(address, {"text": "yes, go on"}).status == 202
    ended = until_execution(talk, "succeeded")
    assert output(talk) == "Do you want to continue? [Y/n] got yes, go on\n"
    assert ended["question"] is None
    talk.until_turns(3)
    late = talk.api.post(address, {"text": "again"})
    assert (late.status, late.json["code"]) == (409, "conflict")


def test_a_turn_does_not_wait_on_for_a_command_that_asks(lab: Lab) -> None:
    talk = lab.talk("do", asks(f"{lab.changing}; {ASKS}"), answers.text("I see that it asks."), answers.text("Ended."))
    talk.approve()
    talk.api.until(talk.id, lambda s: s["executions"][0]["question"], "the question to be seen")
    stopped = talk.api.post(f"/executions/{execution(talk)['id']}/cancellation")
    assert stopped.status == 202
    assert until_execution(talk, "cancelled")["exit_code"] != 0
    assert all(turn["status"] == "done" for turn in turns(talk.snapshot))
