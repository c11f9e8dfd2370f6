"""Plans: a goal and ordered steps, approved as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from nomos.domain.digests import digest
from nomos.domain.executions import Risk


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

    ``parallel``: it may run beside other changes on its host.
    """

    host: str
    command: str
    risk: Risk
    why: str
    undo: str | None = None
    parallel: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A goal, its steps in order, and how it will be verified."""

    id: str
    session_id: str
    message_id: str
    block_id: str
    goal: str
    verify: str
    steps: tuple[Step, ...]
    state: PlanState
    created_at: datetime

    @property
    def risk(self) -> Risk:
        """The strictest of its steps."""
        return max((step.risk for step in self.steps), key=lambda risk: risk.rank, default=Risk.READ)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that it names, in order of first use."""
        return tuple(dict.fromkeys(step.host for step in self.steps))

    def names(self, host: str, command: str) -> bool:
        """Whether it holds exactly these bytes on exactly this host."""
        return self.step_for(host, command) is not None

    def step_for(self, host: str, command: str) -> Step | None:
        """The first step with exactly these bytes on exactly this host."""
        return next((step for step in self.steps if step.host == host and step.command == command), None)


def plan_digest(plan: Plan) -> str:
    """The digest over everything that the plan's card shows."""
    return digest(
        {
            "session": plan.session_id,
            "goal": plan.goal,
            "verify": plan.verify,
            "steps": [[step.host, step.command, step.risk, step.why, step.undo, step.parallel] for step in plan.steps],
        }
    )
