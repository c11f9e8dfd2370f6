"""Drift: a command that is close to a step of the approved plan, but is not what the operator approved."""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from nomos.domain.plans import Plan, PlanState, Step

_WORDS = 200  # of a command that are compared
_ALIKE = 0.5  # share of words in common from which two commands of one program are close


@dataclass(frozen=True, slots=True)
class Drift:
    """``asked`` is close to step ``step`` (from 0) of the plan. ``approved``: its bytes; None if it was left out."""

    plan_id: str
    step: int
    approved: str | None
    asked: str


def closest(plan: Plan, host: str, command: str) -> int | None:
    """The number of the step that the command is closest to: the same program on the same host, and the same verb or
    half of the words. None if it is close to none.
    """
    words = _words(command)
    near: list[tuple[float, int]] = []
    for number, step in enumerate(plan.steps):
        for planned in {step.command, step.asked or step.command}:
            likeness = _likeness(words, _words(planned))
            if step.host == host and likeness is not None:
                near.append((likeness, -number))
    return -max(near)[1] if near else None


def drift(plan: Plan | None, host: str, command: str) -> Drift | None:
    """How the command departs from the approved plan: None if it is one of its steps, or close to none of them."""
    if plan is None or plan.state is not PlanState.APPROVED or plan.step_for(host, command) is not None:
        return None
    number = closest(plan, host, command)
    if number is None:
        return None
    step = plan.steps[number]
    return Drift(plan.id, number, step.command if step.approved else None, command)


def against_the_operator(plan: Plan, host: str, command: str) -> bool:
    """Whether the command is close to a step that the operator left out or edited, and is not what was approved.

    Whatever a window covers, such a command asks: the operator's own hand on the plan stands above it.
    """
    if plan.step_for(host, command) is not None:
        return False
    number = closest(plan, host, command)
    return number is not None and _touched(plan.steps[number])


def edited(found: Drift | None, command: str) -> Drift | None:
    """The drift after the operator edited the command: none if it is the approved step now."""
    if found is None or found.approved == command:
        return None
    return replace(found, asked=command)


def _touched(step: Step) -> bool:
    return not step.approved or step.asked is not None


def _words(command: str) -> list[str]:
    words = command.split(maxsplit=_WORDS)[:_WORDS]
    return words[1:] if words[:1] == ["sudo"] else words


def _likeness(a: list[str], b: list[str]) -> float | None:
    if not a or not b or a[0] != b[0]:
        return None
    likeness = SequenceMatcher(None, a, b, autojunk=False).ratio()
    same_verb = _verb(a) is not None and _verb(a) == _verb(b)
    return likeness if same_verb or likeness >= _ALIKE else None


def _verb(words: list[str]) -> str | None:
    return words[1] if len(words) > 1 and not words[1].startswith("-") else None
