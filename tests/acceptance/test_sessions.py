"""Sessions beside each other: turns run side by side, and nothing of one is seen in the other."""

from __future__ import annotations

from tests.harness import answers
from tests.harness.lab import Lab, asks, turns, words_of
from tests.harness.wait import wait_for


def test_turns_of_several_sessions_run_side_by_side(lab: Lab) -> None:
    held = [lab.model.hold(answers.text(f"Answer {number}.")) for number in range(3)]
    talks = [lab.talk("look", asks("uptime"), step) for step in held]
    for step in held:
        wait_for(step.reached.is_set, 90, "every turn to be under way at once")
    for talk in talks:
        [message] = turns(talk.snapshot)
        assert message["status"] == "working"
        assert talk.snapshot["session"]["state"] == "working"
    for step in reversed(held):
        step.release()
    for number, talk in enumerate(talks):
        [message] = talk.until_turns(1)
        assert words_of(message) == f"Answer {number}."


def test_a_new_session_beside_a_running_one_shows_only_its_own(lab: Lab) -> None:
    held = lab.model.hold(answers.text("Late."))
    running = lab.talk("look", held)
    wait_for(held.reached.is_set, 90, "the first turn")
    other = lab.silent(answers.text("At once."))
    feed = other.feed("?after=0&list=1")
    other.say(f"hello {other.word}")
    assert words_of(other.until_turns(1)[0]) == "At once."
    held.release()
    running.until_state("idle")
    feed.until(
        lambda f: any(data["id"] == running.id and data["state"] == "idle" for data in f.of("session.changed")),
        "the list to tell how the other session stands",
    )
    assert {data["session_id"] for data in feed.of("message.changed")} == {other.id}
    feed.cut()
    listed = lab.api.get("/sessions").json["sessions"]
    assert {running.id, other.id} <= {session["id"] for session in listed}


def test_the_operator_may_write_while_a_turn_runs(lab: Lab) -> None:
    held = lab.model.hold(answers.text("First."))
    talk = lab.talk("one", held, answers.text("Second."))
    wait_for(held.reached.is_set, 90, "the turn")
    talk.say("two")
    assert len(turns(talk.snapshot)) == 1, "one turn at a time"
    held.release()
    assert [words_of(message) for message in talk.until_turns(2)] == ["First.", "Second."]
    talk.until_state("idle")
    assert len(talk.requests) == 2
