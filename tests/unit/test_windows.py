"""The gate: what runs at once."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta

import pytest

from nomos.clock import Moment
from nomos.domain.executions import Risk
from nomos.domain.plans import Plan, PlanState, Step
from nomos.domain.windows import Ended, Gate, Window, gate, over
from tests.harness.values import IDENTITY, MINUTE, NOW, TICKS, plan, window

NAMED = "rm -r /srv/old"
PLAN = plan(Step("nas", NAMED, Risk.DESTROY, "old"), Step("nas", "reload", Risk.CHANGE, "new", None, parallel=True))


def ask(
    risk: Risk, win: Window | None, *, host: str = "nas", command: str = "touch x", the_plan: Plan | None = PLAN,
    now: datetime = NOW, identity: str = IDENTITY,
) -> Gate:  # fmt: skip
    moment = Moment(now, TICKS + (now - NOW).total_seconds(), "boot")
    return gate(risk=risk, host=host, identity=identity, command=command, window=win, plan=the_plan, moment=moment)


@pytest.mark.parametrize("win", [None, window(), window(ended_at=NOW), window(expires_at=NOW - MINUTE)])
def test_what_only_reads_runs_at_once(win: Window | None) -> None:
    assert ask(Risk.READ, win).runs


@pytest.mark.parametrize("risk", [Risk.CHANGE, Risk.DESTROY])
@pytest.mark.parametrize("win", [None, window(ended_at=NOW), window(expires_at=NOW), window(expires_at=NOW - MINUTE)])
@pytest.mark.parametrize("command", ["touch x", NAMED, "reload"])
def test_without_an_open_window_all_else_asks(risk: Risk, win: Window | None, command: str) -> None:
    assert not ask(risk, win, command=command).runs


def test_the_window_covers_changes_on_its_hosts() -> None:
    assert ask(Risk.CHANGE, window()).runs
    assert ask(Risk.CHANGE, window()).ground == "the assent window covers it"
    assert not ask(Risk.CHANGE, window(), host="router").runs
    assert not ask(Risk.CHANGE, window(risk=Risk.READ)).runs
    assert not ask(Risk.CHANGE, window(hosts=())).runs


def test_the_last_instant_is_outside() -> None:
    before = NOW + 30 * MINUTE - timedelta(microseconds=1)
    assert ask(Risk.CHANGE, window(), now=before).runs
    assert not ask(Risk.CHANGE, window(), now=NOW + 30 * MINUTE).runs


def test_a_longer_lease_does_not_prolong_what_was_granted() -> None:
    longer = window(expires_at=NOW + 60 * MINUTE, expires_ticks=TICKS + 3600)
    assert not ask(Risk.CHANGE, longer, now=NOW + 31 * MINUTE).runs
    assert ask(Risk.CHANGE, longer, command="reload", now=NOW + 31 * MINUTE).runs
    assert not ask(Risk.CHANGE, window(cover_until=None)).runs


def test_a_destroying_command_needs_a_plan_that_names_it() -> None:
    assert not ask(Risk.DESTROY, window()).runs
    assert not ask(Risk.DESTROY, window(risk=Risk.DESTROY)).runs
    named = ask(Risk.DESTROY, window(), command=NAMED)
    assert (named.runs, named.plan_id, named.parallel) == (True, "p", False)
    assert not ask(Risk.DESTROY, window(), command=NAMED + " ").runs
    assert not ask(Risk.DESTROY, window(), command=NAMED, host="router").runs


def test_a_step_may_run_beside_others_only_if_the_plan_says_so() -> None:
    assert ask(Risk.CHANGE, window(), command="reload").parallel
    assert not ask(Risk.CHANGE, window()).parallel


@pytest.mark.parametrize("state", [PlanState.PROPOSED, PlanState.DENIED, PlanState.WITHDRAWN])
def test_a_plan_that_is_not_approved_allows_nothing(state: PlanState) -> None:
    assert not ask(Risk.DESTROY, window(), command=NAMED, the_plan=plan(*PLAN.steps, state=state)).runs


def test_a_plan_that_the_window_was_not_opened_for_allows_nothing() -> None:
    assert not ask(Risk.DESTROY, window(plan_id="another"), command=NAMED).runs
    assert not ask(Risk.DESTROY, window(plan_id=None), command=NAMED).runs
    assert not ask(Risk.DESTROY, window(), command=NAMED, the_plan=None).runs


LEFT_OUT = plan(Step("nas", "reload a", Risk.CHANGE, ""), Step("nas", "touch x y", Risk.CHANGE, "")).approve([0])


@pytest.mark.parametrize("command", ["touch x y", "touch x z", "sudo touch x y"])
def test_what_the_operator_left_out_asks_though_the_window_would_cover_it(command: str) -> None:
    assert ask(Risk.CHANGE, window(), command="touch x y").runs
    left_out = ask(Risk.CHANGE, window(), command=command, the_plan=LEFT_OUT)
    assert (left_out.runs, left_out.ground) == (False, "the operator left this step out of the plan, or edited it")
    assert ask(Risk.CHANGE, window(), command="reload b", the_plan=LEFT_OUT).runs


@pytest.mark.parametrize(("command", "runs"), [("touch mine", True), ("touch yours", False), ("touch other", False)])
def test_what_the_operator_edited_runs_as_edited_and_asks_otherwise(command: str, runs: bool) -> None:
    edited = plan(Step("nas", "touch yours", Risk.CHANGE, "").edit("touch mine", Risk.CHANGE, ""))
    if command == "touch other":
        edited = plan(Step("nas", "touch other more", Risk.CHANGE, "").edit("touch mine more", Risk.CHANGE, ""))
    assert ask(Risk.CHANGE, window(), command=command, the_plan=edited).runs is runs


def test_a_read_that_is_a_step_belongs_to_its_plan() -> None:
    looks = plan(Step("nas", "uptime", Risk.READ, ""))
    there = ask(Risk.READ, window(), command="uptime", the_plan=looks)
    assert (there.runs, there.plan_id, there.step) == (True, "p", 0)
    assert ask(Risk.READ, window(), command="uptime -p", the_plan=looks).plan_id is None
    assert ask(Risk.READ, None, command="uptime", the_plan=looks).plan_id is None


def test_every_refusal_says_why() -> None:
    assert ask(Risk.CHANGE, None).ground == "no assent window is open"
    assert "needs its own approval" in ask(Risk.DESTROY, window()).ground
    assert ask(Risk.CHANGE, window(), host="router").ground == "the assent window does not cover it"


def test_the_window_is_over_to_the_second() -> None:
    assert ask(Risk.CHANGE, window(), now=NOW + timedelta(minutes=29, seconds=59)).runs
    assert not ask(Risk.CHANGE, window(), now=NOW + timedelta(minutes=30, seconds=1)).runs


@pytest.mark.parametrize(
    ("step", "passed", "holds"),
    [
        (0, 29 * 60 + 59, True),
        (0, 30 * 60, False),
        (-20 * 60, 25 * 60, True),  # set back, but not to before the opening
        (-20 * 60, 30 * 60 + 1, False),  # the wall clock says 10 minutes
        (-3600, 0, False),
        (20 * 60, 5 * 60, True),
        (20 * 60, 11 * 60, False),
    ],
)
def test_a_clock_that_is_set_prolongs_nothing(step: int, passed: int, holds: bool) -> None:
    moment = Moment(NOW + timedelta(seconds=step + passed), TICKS + passed, "boot")
    assert window().holds(moment) is holds
    assert (over(window(), moment, NOW) is None) is holds


def test_another_boot_of_the_machine_holds_nothing_until_the_wall_clock_was_looked_at() -> None:
    later = Moment(NOW + 10 * MINUTE, 5.0, "another boot")
    assert not window().holds(later)
    assert over(window(), later, NOW + 9 * MINUTE) is None
    assert over(window(), later, NOW + 20 * MINUTE) is Ended.CLOCK
    assert over(window(), dataclasses.replace(later, now=NOW + 30 * MINUTE), NOW + 9 * MINUTE) is Ended.EXPIRED


def test_a_host_that_is_another_machine_now_is_not_covered() -> None:
    other = "o" * 64
    assert not ask(Risk.CHANGE, window(), identity=other).runs
    assert not ask(Risk.DESTROY, window(), command=NAMED, identity=other).runs
    assert not ask(Risk.CHANGE, window(), command="reload", identity=other).runs
    bound_anew = window(bound={"nas": other})
    assert ask(Risk.CHANGE, bound_anew, identity=other).runs
    assert not ask(Risk.DESTROY, bound_anew, command=NAMED, identity=other).runs


def test_a_step_that_todays_rules_call_worse_than_approved_asks() -> None:
    assert ask(Risk.CHANGE, window(), command="reload").runs
    refused = ask(Risk.DESTROY, window(), command="reload")
    assert not refused.runs
    assert "today's rules say destroy" in refused.ground
