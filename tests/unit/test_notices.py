"""What the operator reads where a turn could not end as it should."""

from __future__ import annotations

import pytest

from nomos.domain import notices
from nomos.domain.executions import Execution, State
from nomos.errors import FaultKind
from tests.harness.values import NOW, execution

RAN = execution(State.SUCCEEDED, started_at=NOW)
FAILED = execution(State.FAILED)
RUNNING = execution(State.RUNNING, started_at=NOW)
QUEUED = execution(State.QUEUED)
WAITING = execution(State.WAITING)
UNKNOWN = execution(State.UNKNOWN)
UNREACHABLE = execution(State.UNREACHABLE)
CANCELLED = execution(State.CANCELLED)
CANCELLED_LATE = execution(State.CANCELLED, started_at=NOW)


def test_nothing_ran() -> None:
    assert notices.ran([]) == "Nothing ran on any host in this turn."


@pytest.mark.parametrize(
    ("executions", "words"),
    [
        ([RAN], "1 command had run"),
        ([RAN, FAILED], "2 commands had run"),
        ([RUNNING], "1 is under way and will be followed to the end"),
        ([RUNNING, QUEUED], "2 are under way and will be followed to the end"),
        ([WAITING], "1 waits for your approval"),
        ([UNKNOWN], "1 command may or may not have run"),
        ([UNREACHABLE, CANCELLED], "2 were never started"),
        ([CANCELLED_LATE], "1 command had run"),
        ([execution(State.DENIED)], "1 was never started"),
        (
            [RAN, UNKNOWN, RUNNING, WAITING, UNREACHABLE],
            (
                "1 command had run, 1 command may or may not have run, 1 is under way and will be followed to the end, "
                "1 waits for your approval, 1 was never started"
            ),
        ),
    ],
)
def test_what_ran_and_what_did_not(executions: list[Execution], words: str) -> None:
    assert (
        notices.ran(executions)
        == f"In this turn {words}. Nothing was started after the fault, and nothing is run again."
    )


@pytest.mark.parametrize("state", State)
def test_every_execution_is_counted_whatever_its_state(state: State) -> None:
    assert "In this turn 1 " in notices.ran([execution(state)])


@pytest.mark.parametrize("kind", FaultKind)
def test_a_turn_that_yielded_nothing_says_what_how_often_and_what_next(kind: FaultKind) -> None:
    text = notices.gave_up(kind, "the answer held neither words nor a tool call", 3, [RAN])
    assert text.startswith("The answer held neither words nor a tool call. The model was asked 3 times. In this turn")
    assert text.endswith(".")
    assert ".." not in text


def test_once_is_said_as_once() -> None:
    assert "asked once." in notices.gave_up(FaultKind.PERMANENT, "The key is wrong.", 1, [])


def test_a_turn_that_comes_back_says_when() -> None:
    text = notices.waits("the service is overloaded", 3, 16.4, [])
    assert text.startswith("The service is overloaded. The model was asked 3 times. Nothing ran on any host")
    assert text.endswith("asks again by itself in 16 s.")


def test_stop_says_what_is_still_under_way() -> None:
    assert notices.stopped([RAN]) == "Stopped by you. Nothing is under way."
    assert notices.stopped([RUNNING]) == "Stopped by you. 1 command is still under way."
    assert notices.stopped([RUNNING, QUEUED]) == "Stopped by you. 2 commands are still under way."


def test_the_bound_of_a_turn_is_named() -> None:
    assert notices.too_many_steps(60, [RAN]).startswith("This turn took 60 answers")


def test_a_fault_of_its_own_is_owned_up_to() -> None:
    assert notices.own_fault([]).startswith("Nomos met a fault of its own")
