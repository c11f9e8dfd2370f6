"""Executions: each arrow, and no other."""

from __future__ import annotations

from datetime import timedelta

import pytest

from nomos.domain.executions import CONTINUES, ENDED, UNDER_WAY, Risk, State, may_become
from tests.harness.values import NOW, execution

ARROWS = {
    "waiting": "queued denied withdrawn",
    "queued": "starting cancelled unreachable withdrawn",
    "starting": "running queued unreachable cancelled withdrawn unknown succeeded failed timed_out",
    "running": "succeeded failed timed_out cancelled unknown",
    "succeeded": "",
    "failed": "",
    "timed_out": "",
    "cancelled": "",
    "unknown": "",
    "denied": "",
    "withdrawn": "",
    "unreachable": "",
}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("after", State)
def test_an_arrow_is_drawn_or_refused(state: State, after: State) -> None:
    assert may_become(state, after) is (after in ARROWS[state].split())


def test_every_state_is_ended_under_way_or_waiting() -> None:
    assert {State.WAITING} | UNDER_WAY | ENDED == set(State)
    assert not UNDER_WAY & ENDED


def test_a_denial_is_told_as_a_decision_and_every_other_end_as_a_result() -> None:
    assert {State.DENIED} == ENDED - CONTINUES


def test_nothing_that_ran_can_run_again() -> None:
    for state in ENDED:
        assert not any(may_become(state, after) for after in State)


def test_risks_are_ordered() -> None:
    assert [risk.rank for risk in (Risk.READ, Risk.CHANGE, Risk.DESTROY)] == [0, 1, 2]


def test_run_time_counts_from_the_start_on_the_host() -> None:
    start = NOW + timedelta(seconds=5)
    assert execution(started_at=start, ended_at=start + timedelta(seconds=2.5)).seconds == 2.5
    assert execution(started_at=start).seconds is None
    assert execution(ended_at=start).seconds is None


def test_a_clock_set_back_gives_no_negative_run_time() -> None:
    assert execution(started_at=NOW, ended_at=NOW - timedelta(hours=1)).seconds == 0.0
