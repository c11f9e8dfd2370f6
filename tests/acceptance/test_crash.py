"""``kill -9`` of the worker in the middle of everything: found again, continued once, nothing twice, nothing lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness import answers
from tests.harness.lab import Lab, Talk, asks, calls_of, notices, turns, words_of
from tests.harness.wait import wait_for


class Crash:
    """What was under way when the worker was killed. It stays dead until ``Lab`` is given back whole."""

    def __init__(self, lab: Lab) -> None:
        self.flag, self.path, self.done = lab.file(), lab.file(), lab.file()
        command = f"{lab.noting(self.path)}; {lab.until_file(self.flag)}"
        self.command: Talk = lab.talk("do", asks(command), answers.text("I wait."), answers.text("I saw the result."))
        self.command.approve()
        self.ended: Talk = lab.talk(
            "do", asks(f"{lab.until_file(self.done)}; {lab.noting(self.path, 'second')}"), answers.text("I wait."),
            answers.text("I saw that result too."),
        )  # fmt: skip
        self.held = lab.model.hold(answers.text("Never heard of."), after=3)
        self.turn: Talk = lab.talk("look", asks("uptime"), self.held, answers.text("Here I am again."))
        self.idle: Talk = lab.silent(answers.text("I heard you."))


@pytest.fixture(scope="module")
def crash(running_lab: Lab) -> Iterator[Crash]:
    lab = running_lab
    crash = Crash(lab)
    wait_for(crash.held.reached.is_set, 90, "the turn to be in the middle of its answer")
    lab.api.until(crash.command.id, lambda s: "one" in "".join(o["text"] for o in s["outputs"]), "the first line", 90)
    assert lab.stack.worker is not None
    lab.stack.worker.kill()
    crash.held.release()
    # What the operator says and decides meanwhile is kept.
    crash.idle.say(f"hello ({crash.idle.word})")
    crash.flag.touch()
    lab.stack.start_worker()
    yield crash
    crash.done.touch()
    lab.clear_away([crash.command, crash.ended, crash.turn])


def test_the_command_is_found_again_and_continued_once(lab: Lab, crash: Crash) -> None:
    talk = crash.command
    message = talk.until_turns(2, timeout=90)[-1]
    assert (message["origin"], words_of(message)) == ("continuation", "I saw the result.")
    [execution] = talk.snapshot["executions"]
    assert (execution["state"], execution["exit_code"]) == ("succeeded", 0)
    output = lab.api.get(f"/executions/{execution['id']}/output.txt").text
    assert output == "ran\none\ntwo\n", "the output is complete, and nothing of it is there twice"
    assert crash.path.read_text().splitlines().count("ran") == 1, "it ran exactly once"
    assert len([m for m in talk.snapshot["messages"] if m["role"] == "event"]) == 1


def test_the_turn_goes_on_in_the_same_message_and_runs_no_tool_again(lab: Lab, crash: Crash) -> None:
    [message] = crash.turn.until_turns(1, timeout=90)
    assert message["status"] == "done"
    assert words_of(message) == "Here I am again."
    assert not notices(message)
    assert len(calls_of(message)) == 1
    assert len(crash.turn.snapshot["executions"]) == 1
    assert len(turns(crash.turn.snapshot)) == 1


def test_what_was_said_meanwhile_is_answered(lab: Lab, crash: Crash) -> None:
    [message] = crash.idle.until_turns(1, timeout=90)
    assert words_of(message) == "I heard you."


def test_a_question_that_was_open_is_decided_and_run_afterwards(lab: Lab, crash: Crash) -> None:
    crash.ended.approve()
    crash.done.touch()
    message = crash.ended.until_turns(2, timeout=90)[-1]
    assert words_of(message) == "I saw that result too."
    assert crash.path.read_text().splitlines().count("second") == 1
