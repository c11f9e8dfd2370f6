"""Assent windows, and the gate: what runs at once, and what asks first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from nomos.domain.drift import against_the_operator
from nomos.domain.executions import Risk
from nomos.domain.plans import Plan, PlanState

CLOCK_SLACK = timedelta(minutes=1)  # by which two machines' clocks may differ, or one may be corrected


class Scope(StrEnum):
    """How much one approval allows, narrowest first."""

    ONCE = "once"  # this command, this time
    PLAN = "plan"  # the plan's exact commands
    WINDOW = "window"  # and other commands up to ``change`` on its hosts, until the window ends


@dataclass(frozen=True, slots=True)
class Window:
    """A lease on the session: until ``expires_at`` the agent is re-invoked and the plan's own commands run.

    ``hosts`` and ``risk`` say what else runs unasked, until ``cover_until``: a later approval of one command
    prolongs the lease, but not what an earlier one granted. ``risk`` is ``read`` where nothing else was granted.
    ``continuations`` counts how often the agent was re-invoked under it.
    """

    id: str
    session_id: str
    opened_at: datetime
    expires_at: datetime
    opened_by: str
    scope: Scope
    hosts: tuple[str, ...]
    risk: Risk
    cover_until: datetime | None = None
    plan_id: str | None = None
    revoked_at: datetime | None = None
    continuations: int = 0
    used: tuple[str, ...] = ()  # ids of executions that ran under it

    def is_open(self, now: datetime) -> bool:
        """Whether it is open at ``now``. A clock that was set back to before its opening does not prolong it."""
        return self.revoked_at is None and self.opened_at - CLOCK_SLACK <= now < self.expires_at

    def covers(self, host: str, risk: Risk, now: datetime) -> bool:
        """Whether any command of this risk on this host runs unasked at ``now``."""
        covering = self.is_open(now) and self.cover_until is not None and now < self.cover_until
        return covering and host in self.hosts and risk.rank <= self.risk.rank


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate's answer: whether the command may run at once, and on what ground."""

    runs: bool
    ground: str
    plan_id: str | None = None
    parallel: bool = False


def gate(*, risk: Risk, host: str, command: str, window: Window | None, plan: Plan | None, now: datetime) -> Gate:
    """Decide whether a command runs at once.

    ``read`` runs. Everything else needs an open window: the approved plan that it belongs to must name the exact
    command on that host, or (never for ``destroy``) the window must cover host and risk. ``plan`` is the plan that
    the window belongs to. What comes close to a step that the operator left out or edited asks, whatever is covered.
    """
    if risk is Risk.READ:
        return Gate(True, "it changes nothing")
    if window is None or not window.is_open(now):
        return Gate(False, "no assent window is open")
    approved = plan is not None and plan.id == window.plan_id and plan.state is PlanState.APPROVED
    step = plan.step_for(host, command) if plan is not None and approved else None
    if plan is not None and step is not None:
        return Gate(True, "the approved plan names it", plan.id, step.parallel)
    if plan is not None and approved and against_the_operator(plan, host, command):
        return Gate(False, "the operator left this step out of the plan, or edited it")
    if risk is Risk.DESTROY:
        return Gate(False, "what destroys needs its own approval, or a plan that names this exact command")
    if window.covers(host, risk, now):
        return Gate(True, "the assent window covers it", window.plan_id)
    return Gate(False, "the assent window does not cover it")
