"""Whatever the model's service does, a turn ends in words, is asked for as often as is right, and runs no tool twice.

All cases are played at once, each in a session of its own: an operator's turn and a continuation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from nomos.errors import FaultKind
from tests.harness import answers
from tests.harness.answers import Answer
from tests.harness.lab import Lab, Talk, asks, calls_of, notices, turns, words_of

EMPTY, REFUSED, BROKEN, CUT = FaultKind.EMPTY, FaultKind.REFUSED, FaultKind.BROKEN, FaultKind.CUT
TRANSIENT, PERMANENT, TOO_LONG = FaultKind.TRANSIENT, FaultKind.PERMANENT, FaultKind.TOO_LONG

FAULTS: dict[str, tuple[Answer, FaultKind]] = {
    "nothing": (answers.empty(), EMPTY),
    "a text of no letters": (answers.empty_text(), EMPTY),
    "a line break": (answers.blank(), EMPTY),
    "a stop for tools without a call": (answers.no_calls(), EMPTY),
    "thoughts alone": (answers.thinking("Hmm.", ""), EMPTY),
    "a refusal": (answers.refusal(), REFUSED),
    "a refusal after words": (answers.refusal("I would rather"), REFUSED),
    "a call cut by the token limit": (answers.max_tokens_in_tool(), CUT),
    "half a call, called whole": (answers.cut_call_called_whole(), CUT),
    "a call that is no JSON": (answers.bad_tool_json(), CUT),
    "the end in mid text": (answers.cut_in_text(), BROKEN),
    "the end in mid call": (answers.cut_in_tool(), BROKEN),
    "no message_stop": (answers.cut_before_stop(), BROKEN),
    "no stop_reason": (answers.no_stop_reason(), BROKEN),
    "no usage": (answers.no_usage(), BROKEN),
    "a gap in the numbers": (answers.index_gap(), BROKEN),
    "a reset": (answers.reset(), BROKEN),
    "a broken body": (answers.broken_body(), BROKEN),
    "bad JSON": (answers.bad_json(), BROKEN),
    "bad bytes": (answers.bad_bytes(), BROKEN),
    "a web page": (answers.html(), BROKEN),
    "one whole message": (answers.json_body(), BROKEN),
    "nameless events": (answers.nameless_events(), BROKEN),
    "overloaded in mid stream": (answers.error_in_stream(), TRANSIENT),
    "a bad request in mid stream": (answers.error_in_stream("invalid_request_error"), PERMANENT),
    "400": (answers.error(400), PERMANENT),
    "401": (answers.error(401), PERMANENT),
    "403": (answers.error(403), PERMANENT),
    "404": (answers.error(404), PERMANENT),
    "413": (answers.error(413), TOO_LONG),
    "429": (answers.error(429), TRANSIENT),
    "500": (answers.error(500), TRANSIENT),
    "503 as a web page": (answers.html(503), TRANSIENT),
    "529": (answers.error(529), TRANSIENT),
    "a spend limit": (answers.spend_limit(), PERMANENT),
}
STATUSES = {"429", "500", "503 as a web page", "529", "a spend limit"}
TRIES = {EMPTY: 3, BROKEN: 3, CUT: 3, REFUSED: 2, TRANSIENT: 3, PERMANENT: 1, TOO_LONG: 1}


def asked(case: str) -> int:
    """How often the service is asked before Nomos gives up, or puts the turn off."""
    # The SDK itself repeats the very first try of a step, where the status allows it.
    return TRIES[FAULTS[case][1]] + (case in STATUSES)


@dataclass
class Played:
    """The sessions of all cases."""

    operator: dict[str, Talk] = field(default_factory=dict)
    continuation: dict[str, Talk] = field(default_factory=dict)


@pytest.fixture(scope="module")
def played(running_lab: Lab) -> Iterator[Played]:
    lab, all_ = running_lab, Played()
    for case, (fault, kind) in FAULTS.items():
        times = asked(case)
        all_.operator[case] = lab.talk("look", asks("uptime"), *[fault] * times, answers.text("Here again."))
        rounds = 2 if kind is TRANSIENT else 1
        all_.continuation[case] = lab.talk(
            "change it", asks(lab.noting(lab.file(case))), answers.text("I wait."), *[fault] * times * rounds,
            answers.text("Here again."),
        )  # fmt: skip
    for talk in all_.continuation.values():
        talk.until_turns(1, timeout=90)
        talk.approve()
    yield all_
    for case in FAULTS:
        assert lab.file(case).read_text() == "ran\n", f"{case}: the command must have run exactly once"


@pytest.mark.parametrize("case", FAULTS)
def test_an_operators_turn_ends_in_a_notice_and_the_next_message_works(lab: Lab, played: Played, case: str) -> None:
    talk, kind = played.operator[case], FAULTS[case][1]
    [message] = talk.until_turns(1)
    assert len(talk.requests) == 1 + asked(case)
    explained(message, kind)
    assert message["status"] == "failed"
    assert [call["input"]["command"] for call in calls_of(message)] == ["uptime"]
    assert "1 command had run" in notices(message)[-1]["text"]
    assert talk.snapshot["session"]["state"] == "failed"
    talk.say("and now?")
    message = talk.until_turns(2)[-1]
    assert (message["status"], words_of(message)) == ("done", "Here again.")
    assert len(talk.snapshot["executions"]) == 1


@pytest.mark.parametrize("case", [case for case, (_, kind) in FAULTS.items() if kind is not TRANSIENT])
def test_a_continuation_ends_in_a_notice_and_the_next_message_works(lab: Lab, played: Played, case: str) -> None:
    talk, kind = played.continuation[case], FAULTS[case][1]
    message = talk.until_turns(2)[-1]
    assert message["origin"] == "continuation"
    assert len(talk.requests) == 2 + asked(case)
    explained(message, kind)
    assert message["status"] == "failed"
    assert "Nothing ran on any host in this turn." in notices(message)[-1]["text"]
    talk.say("and now?")
    message = talk.until_turns(3)[-1]
    assert (message["status"], words_of(message)) == ("done", "Here again.")
    [execution] = talk.snapshot["executions"]
    assert execution["continued_at"] is not None


@pytest.mark.parametrize("case", [case for case, (_, kind) in FAULTS.items() if kind is TRANSIENT])
def test_a_continuation_waits_for_a_service_that_is_away_and_goes_on_by_itself(
    lab: Lab, played: Played, case: str
) -> None:
    talk = played.continuation[case]
    message = talk.until_turns(2)[-1]
    assert (message["status"], words_of(message)) == ("done", "Here again.")
    assert len(talk.requests) == 2 + 2 * asked(case) + 1
    assert not notices(message), "the notice goes once the service is back"
    feed = talk.feed("?after=0&types=block,message")
    feed.until(lambda f: any(frame.name == "current" for frame in f.frames), "the replay")
    told = [data["text"] for data in feed.of("block.changed") if data.get("code") == "model_waits"]
    feed.cut()
    assert len(told) == 2
    assert all("asks again by itself in" in text and "asked 3 times" in text for text in told)


def explained(message: Any, kind: FaultKind) -> None:
    """The last block is a notice that says what happened, how often it was tried, and what ran."""
    assert message["blocks"][-1]["kind"] == "notice"
    [notice] = notices(message)
    assert notice["code"] == f"model_{kind}"
    tries = TRIES[kind]
    assert f"The model was asked {'once' if tries == 1 else f'{tries} times'}." in notice["text"]
    assert "ran" in notice["text"] or "had run" in notice["text"]


def test_no_message_is_ever_blank(lab: Lab, played: Played) -> None:
    for talk in (*played.operator.values(), *played.continuation.values()):
        talk.until_turns(1)
        for message in turns(talk.snapshot):
            if message["status"] not in {"thinking", "working"}:
                assert any(str(block.get("text") or block.get("name")).strip() for block in message["blocks"])


def test_what_is_new_in_the_protocol_does_no_harm(lab: Lab) -> None:
    talk = lab.talk("look", answers.unknown_event("One."), answers.unknown_block(), answers.text("Three."))
    talk.until_turns(1)
    talk.say("more")
    talk.until_turns(2)
    talk.say("more")
    assert [words_of(message) for message in talk.until_turns(3)] == ["One.", "Hello.", "Three."]


def test_a_call_without_input_and_calls_under_one_id_are_answered(lab: Lab) -> None:
    talk = lab.talk("look", answers.tool_without_input("run"), answers.duplicate_ids(), answers.text("Enough."))
    [message] = talk.until_turns(1)
    first, second, third = calls_of(message)
    assert first["is_error"]
    assert "does not fit" in first["result"]
    assert "Nothing was run" in first["result"]
    assert second["result"] == third["result"]
    assert "lab" in second["result"]
