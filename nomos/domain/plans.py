"""Plans: a goal and ordered steps, approved as one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from nomos.domain.digests import digest
from nomos.domain.executions import Risk
from nomos.errors import InvalidInput


class PlanState(StrEnum):
    """Where a plan stands."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"  # another plan or the end of the session took its place


TRANSITIONS: Mapping[PlanState, frozenset[PlanState]] = {
    PlanState.PROPOSED: frozenset({PlanState.APPROVED, PlanState.DENIED, PlanState.WITHDRAWN}),
    PlanState.APPROVED: frozenset({PlanState.WITHDRAWN}),
    PlanState.DENIED: frozenset(),
    PlanState.WITHDRAWN: frozenset(),
}


@dataclass(frozen=True, slots=True)
class Step:
    """One step: the exact command on the host, its risk as Nomos classed it (never as the model did).

    ``parallel``: it may run beside other changes on its host. ``risk_why``: the classifier's reason. ``asked``: what
    the agent had proposed, where the operator edited the command. ``approved``: the operator's answer names it.
    """

    host: str
    command: str
    risk: Risk
    why: str
    undo: str | None = None
    parallel: bool = False
    risk_why: str = ""
    asked: str | None = None
    approved: bool = False

    def edit(self, command: str, risk: Risk, risk_why: str) -> Step:
        """The step with the operator's command. With the agent's own words again it counts as never edited.

        What would have undone the agent's command is not said of the operator's.
        """
        proposed = self.command if self.asked is None else self.asked
        asked = None if command == proposed else proposed
        return replace(self, command=command, risk=risk, risk_why=risk_why, asked=asked, undo=None)


@dataclass(frozen=True, slots=True)
class Plan:
    """A goal, its steps in order, and how it will be verified.

    ``snapshots``: the operator's answer has one taken of each guest before its first change.
    """

    id: str
    session_id: str
    message_id: str
    block_id: str
    goal: str
    verify: str
    steps: tuple[Step, ...]
    state: PlanState
    created_at: datetime
    snapshots: bool = False

    @property
    def risk(self) -> Risk:
        """The strictest of its steps."""
        return max((step.risk for step in self.steps), key=lambda risk: risk.rank, default=Risk.READ)

    @property
    def risk_why(self) -> str:
        """Why it has that risk: the reason of its first strictest step."""
        return next((step.risk_why for step in self.steps if step.risk is self.risk), "")

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that it names, in order of first use."""
        return tuple(dict.fromkeys(step.host for step in self.steps))

    @property
    def allowed(self) -> tuple[Step, ...]:
        """The steps that the operator approved."""
        return tuple(step for step in self.steps if step.approved)

    @property
    def allowed_hosts(self) -> tuple[str, ...]:
        """The hosts that the approved steps name, in order of first use."""
        return tuple(dict.fromkeys(step.host for step in self.allowed))

    def approve(self, chosen: Collection[int] | None) -> Plan:
        """The plan with these steps approved and the others left out; None approves all.

        :raises InvalidInput: a number names no step, or none is chosen.
        """
        numbers = set(range(len(self.steps)) if chosen is None else chosen)
        if not numbers:
            raise InvalidInput("steps: no step is chosen. Deny the plan instead. Nothing was decided.", field="steps")
        if not numbers <= set(range(len(self.steps))):
            last = len(self.steps) - 1
            raise InvalidInput(f"steps: the steps have the numbers 0 to {last}. Nothing was decided.", field="steps")
        return replace(self, steps=tuple(replace(step, approved=n in numbers) for n, step in enumerate(self.steps)))

    def number_of(self, host: str, command: str) -> int | None:
        """The number (from 0) of the first approved step with exactly these bytes on exactly this host."""
        same = (n for n, s in enumerate(self.steps) if s.approved and s.host == host and s.command == command)
        return next(same, None)

    def step_for(self, host: str, command: str) -> Step | None:
        """The first approved step with exactly these bytes on exactly this host."""
        number = self.number_of(host, command)
        return None if number is None else self.steps[number]


def plan_digest(plan: Plan, identities: Mapping[str, str]) -> str:
    """The digest over everything that the plan's card shows.

    :param identities: the digest of each of its hosts' ``Identity``, by name.
    """
    return digest(
        {
            "kind": "plan",
            "session": plan.session_id,
            "plan": plan.id,
            "goal": plan.goal,
            "verify": plan.verify,
            "steps": [
                [
                    number,
                    step.host,
                    identities.get(step.host),
                    step.command,
                    step.risk,
                    step.why,
                    step.undo,
                    step.parallel,
                ]
                for number, step in enumerate(plan.steps)
            ],
        }
    )
