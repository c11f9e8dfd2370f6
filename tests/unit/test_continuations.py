"""Whether the agent is invoked, and on what ground."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from nomos.domain.continuations import Decision, Limits, Wake, decide, may_wait
from nomos.domain.executions import Risk, State
from nomos.domain.messages import Origin
from nomos.domain.sessions import Ending
from nomos.domain.windows import Window
from tests.harness.values import MINUTE, NOW, execution, window

LIMITS = Limits(assent_minutes=30, max_continuations=3)
READ = execution()
CHANGE = execution(risk=Risk.CHANGE)
CLOSED = window(ended_at=NOW)
SLEEP = Decision(Wake.SLEEP)
PARK = Decision(Wake.PARK)
GO_ON = Decision(Wake.RUN, Origin.CONTINUATION)


def ask(**given: Any) -> Decision:
    facts: dict[str, Any] = {
        "now": NOW, "spoken": False, "decided": False, "ended": (), "asking": (), "window": None, "last_word_at": None,
        "ending": Ending.NONE, "limits": LIMITS,
    }  # fmt: skip
    return decide(**(facts | given))


def test_nothing_new_wakes_nobody() -> None:
    assert ask() == SLEEP
    assert ask(window=window()) == SLEEP


@pytest.mark.parametrize("win", [None, window(), CLOSED])
@pytest.mark.parametrize("ending", [ending for ending in Ending if ending is not Ending.STOPPED])
def test_the_operators_acts_always_start_a_turn(win: Window | None, ending: Ending) -> None:
    assert ask(spoken=True, window=win, ending=ending) == Decision(Wake.RUN, Origin.OPERATOR)
    assert ask(decided=True, window=win, ending=ending) == Decision(Wake.RUN, Origin.DECISION)
    assert ask(spoken=True, decided=True, ended=[CHANGE], window=win, ending=ending).origin is Origin.OPERATOR


def test_what_was_stopped_wakes_nobody() -> None:
    everything = {"spoken": True, "decided": True, "ended": [READ], "window": window(), "last_word_at": NOW}
    assert ask(**everything, ending=Ending.STOPPED) == SLEEP


def test_a_result_goes_on_while_the_window_is_open() -> None:
    assert ask(ended=[CHANGE], window=window()) == GO_ON
    assert ask(ended=[CHANGE], window=window(), now=NOW + 30 * MINUTE) == PARK
    assert ask(ended=[CHANGE], window=CLOSED) == PARK
    assert ask(ended=[CHANGE]) == PARK


def test_a_running_command_that_asks_counts_as_a_result() -> None:
    assert ask(asking=[execution(State.RUNNING, risk=Risk.CHANGE)], window=window()) == GO_ON


@pytest.mark.parametrize(
    ("word_at", "expected"),
    [(NOW, GO_ON), (NOW - 29 * MINUTE, GO_ON), (NOW - 30 * MINUTE, PARK), (NOW - 31 * MINUTE, PARK), (None, PARK)],
)
def test_what_only_read_goes_on_for_a_while_after_the_operators_last_word(
    word_at: datetime | None, expected: Decision
) -> None:
    assert ask(ended=[READ], last_word_at=word_at) == expected


def test_one_change_among_reads_needs_the_window() -> None:
    assert ask(ended=[READ, CHANGE], last_word_at=NOW) == PARK


def test_continuations_are_counted() -> None:
    assert ask(ended=[READ], window=window(continuations=2)) == GO_ON
    assert ask(ended=[READ], window=window(continuations=3), last_word_at=NOW) == Decision(Wake.PARK, limit=True)


def test_a_cancelled_command_alone_wakes_nobody() -> None:
    cancelled = execution(State.CANCELLED)
    assert ask(ended=[cancelled], window=window()) == SLEEP
    assert ask(ended=[cancelled, CHANGE], window=window()) == GO_ON


@pytest.mark.parametrize("state", [State.FAILED, State.TIMED_OUT, State.UNKNOWN, State.UNREACHABLE])
def test_a_failure_wakes_the_agent_like_a_success(state: State) -> None:
    assert ask(ended=[execution(state, risk=Risk.CHANGE)], window=window()) == GO_ON


@pytest.mark.parametrize(
    ("win", "word_at", "origin", "expected"),
    [
        (window(), None, Origin.OPERATOR, True),
        (window(), None, Origin.CONTINUATION, True),
        (CLOSED, NOW, Origin.CONTINUATION, False),
        (None, NOW, Origin.CONTINUATION, True),
        (None, NOW - 31 * MINUTE, Origin.CONTINUATION, False),
        (None, None, Origin.CONTINUATION, False),
        (None, NOW, Origin.OPERATOR, False),
        (None, NOW, Origin.DECISION, False),
    ],
)
def test_when_a_turn_may_come_back_by_itself(
    win: Window | None, word_at: datetime | None, origin: Origin, expected: bool
) -> None:
    assert may_wait(now=NOW, window=win, last_word_at=word_at, origin=origin, limits=LIMITS) is expected
