"""Nomos's own words to the operator where a turn could not end as it should: what happened, how often it was tried,

what had run and what had not, and what comes next.
"""

from __future__ import annotations

from collections.abc import Sequence

from nomos.domain.executions import UNDER_WAY, Execution, State
from nomos.errors import FaultKind

_NEXT = {
    FaultKind.EMPTY: "Write again to go on, or ask in other words.",
    FaultKind.REFUSED: "The same words would be refused again: say it differently, or use another model.",
    FaultKind.BROKEN: "Write again to go on from here.",
    FaultKind.CUT: "Write again to go on, best in smaller steps.",
    FaultKind.TRANSIENT: "Write again to go on from here.",
    FaultKind.PERMANENT: "Put that right first, then write again: the session goes on from here.",
    FaultKind.TOO_LONG: "Start a new session for what is left to do.",
}


_RAN = frozenset({State.SUCCEEDED, State.FAILED, State.TIMED_OUT})


def ran(executions: Sequence[Execution]) -> str:
    """What had run in a turn, and what had not."""
    if not executions:
        return "Nothing ran on any host in this turn."
    going = [e for e in executions if e.state in UNDER_WAY]
    waiting = [e for e in executions if e.state is State.WAITING]
    unknown = [e for e in executions if e.state is State.UNKNOWN]
    others = [e for e in executions if e not in [*going, *waiting, *unknown]]
    ended = [e for e in others if e.state in _RAN or e.started_at is not None]
    parts = []
    if ended:
        parts.append(_count(len(ended), "command had", "commands had") + " run")
    if unknown:
        parts.append(_count(len(unknown), "command", "commands") + " may or may not have run")
    if going:
        parts.append(_count(len(going), "is", "are") + " under way and will be followed to the end")
    if waiting:
        parts.append(_count(len(waiting), "waits", "wait") + " for your approval")
    if len(others) > len(ended):
        parts.append(_count(len(others) - len(ended), "was", "were") + " never started")
    return f"In this turn {', '.join(parts)}. Nothing was started after the fault, and nothing is run again."


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def gave_up(kind: FaultKind, why: str, asked: int, executions: Sequence[Execution]) -> str:
    """A turn that yielded nothing is explained."""
    times = "once" if asked == 1 else f"{asked} times"
    what = why[:1].upper() + why[1:].rstrip(".")
    return f"{what}. The model was asked {times}. {ran(executions)} {_NEXT.get(kind, 'Write again to go on.')}"


def waits(why: str, asked: int, delay: float, executions: Sequence[Execution]) -> str:
    """A turn that the service cannot answer now comes back by itself."""
    times = "once" if asked == 1 else f"{asked} times"
    what = why[:1].upper() + why[1:].rstrip(".")
    return f"{what}. The model was asked {times}. {ran(executions)} Nomos asks again by itself in {delay:.0f} s."


def own_fault(executions: Sequence[Execution]) -> str:
    """Nomos itself failed in the middle of a turn."""
    return f"Nomos met a fault of its own; its log says more. {ran(executions)} Write again to go on from here."


def too_many_steps(limit: int, executions: Sequence[Execution]) -> str:
    """The turn's bound is reached."""
    return f"This turn took {limit} answers of the model without coming to an end. {ran(executions)} Write to go on."


def stopped(executions: Sequence[Execution]) -> str:
    """The operator pressed Stop."""
    going = [e for e in executions if e.state in UNDER_WAY]
    if going:
        return f"Stopped by you. {_count(len(going), 'command is', 'commands are')} still under way."
    return "Stopped by you. Nothing is under way."
