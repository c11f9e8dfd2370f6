"""Drift: what is close to a step of the approved plan without being it."""

from __future__ import annotations

import pytest

from nomos.domain.drift import Drift, closest, drift, edited
from nomos.domain.executions import Risk
from nomos.domain.plans import Plan, PlanState, Step
from nomos.errors import InvalidInput
from tests.harness.values import plan


def planned(*commands: str, host: str = "nas") -> Plan:
    return plan(*(Step(host, command, Risk.CHANGE, "") for command in commands))


@pytest.mark.parametrize(
    ("step", "command"),
    [
        ("systemctl restart web", "systemctl restart db"),
        ("pct create 105 a --memory 512", "pct create 106 a --memory 512"),
        ("rm -rf /srv/old", "rm -rf /srv"),
        ("sudo systemctl restart web", "systemctl restart db"),
        ("cp -a /etc/a /etc/b", "cp -a /etc/a /etc/c"),
    ],
)
def test_the_same_program_and_verb_or_half_of_the_words_is_close(step: str, command: str) -> None:
    value = planned("uptime", step)
    assert drift(value, "nas", command) == Drift("p", 1, step, command)
    assert drift(value, "router", command) is None


@pytest.mark.parametrize(
    ("step", "command"),
    [
        ("systemctl restart web", "service web restart"),
        ("systemctl restart web", "systemctl stop docker.socket"),
        ("rm -f a", "rm -rf /srv/old"),
        ("pct create 105 a", ""),
    ],
)
def test_other_work_is_not(step: str, command: str) -> None:
    assert drift(planned(step), "nas", command) is None


def test_a_step_of_the_plan_is_no_drift_and_of_several_the_closest_counts() -> None:
    value = planned("pct start 105", "pct set 105 --cores 2", "pct set 105 --memory 512")
    assert drift(value, "nas", "pct set 105 --cores 2") is None
    assert closest(value, "nas", "pct set 105 --memory 1024") == 2
    assert closest(value, "nas", "pct set 105 --cores 4") == 1


@pytest.mark.parametrize("state", [PlanState.PROPOSED, PlanState.DENIED, PlanState.WITHDRAWN])
def test_only_an_approved_plan_is_departed_from(state: PlanState) -> None:
    value = plan(Step("nas", "touch a", Risk.CHANGE, ""), state=state)
    assert drift(value, "nas", "touch b") is None
    assert drift(None, "nas", "touch b") is None


def test_of_a_step_that_was_left_out_nothing_is_approved() -> None:
    value = planned("touch a", "systemctl restart web").approve([0])
    assert drift(value, "nas", "systemctl restart web") == Drift("p", 1, None, "systemctl restart web")


def test_what_the_operator_edited_stays_close_to_what_was_proposed() -> None:
    step = Step("nas", "mkfs /dev/sdb", Risk.DESTROY, "").edit("lsblk /dev/sdb", Risk.READ, "")
    assert drift(plan(step), "nas", "mkfs /dev/sdb") == Drift("p", 0, "lsblk /dev/sdb", "mkfs /dev/sdb")
    back = step.edit("mkfs /dev/sdb", Risk.DESTROY, "")
    assert back.asked is None


def test_what_undid_the_proposed_command_is_not_said_of_the_edited_one() -> None:
    step = Step("nas", "mkdir a", Risk.CHANGE, "", undo="rmdir a").edit("mkdir b", Risk.CHANGE, "")
    assert (step.command, step.undo) == ("mkdir b", None)


def test_an_edit_can_take_the_drift_away() -> None:
    found = Drift("p", 0, "touch a", "touch b")
    assert edited(found, "touch a") is None
    assert edited(found, "touch c") == Drift("p", 0, "touch a", "touch c")
    assert edited(None, "touch c") is None


def test_steps_are_chosen_by_number() -> None:
    value = planned("a", "b", "c")
    assert [step.command for step in value.approve([2, 0]).allowed] == ["a", "c"]
    assert value.approve([0]).allowed_hosts == ("nas",)
    for wrong in ([], [3], [-1]):
        with pytest.raises(InvalidInput):
            value.approve(wrong)


def test_a_very_long_command_is_compared_quickly() -> None:
    long = "touch " + " ".join(str(number) for number in range(4000))
    assert drift(planned(*[long] * 50), "nas", long + " more") is not None
