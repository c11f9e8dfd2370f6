"""Assent windows, and the gate: what runs at once, and what asks first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from nomos.clock import Moment
from nomos.domain.drift import against_the_operator
from nomos.domain.executions import Risk
from nomos.domain.plans import Plan, PlanState

CLOCK_SLACK = timedelta(minutes=1)  # by which two machines' clocks may differ, or one may be corrected


class Scope(StrEnum):
    """How much one approval allows, narrowest first."""

    ONCE = "once"  # this command, this time
    PLAN = "plan"  # the plan's exact commands
    WINDOW = "window"  # and other commands up to ``change`` on its hosts, until the window ends


class Ended(StrEnum):
    """Why a window ended."""

    EXPIRED = "expired"
    REVOKED = "revoked"  # by the operator, on the bar
    DENIED = "denied"  # the operator denied a question
    REPLACED = "replaced"  # a later approval opened another
    CLOCK = "clock"  # the machine was started anew, and its clock cannot be trusted to say how long ago


@dataclass(frozen=True, slots=True)
class Window:
    """A lease on the session: until ``expires_at`` the agent is re-invoked and the plan's own commands run.

    ``hosts`` and ``risk`` say what else runs unasked, until ``cover_until``: a later approval of one command
    prolongs the lease, but not what an earlier one granted. ``risk`` is ``read`` where nothing else was granted.
    ``continuations`` counts how often the agent was re-invoked under it. ``bound`` and ``plan_bound`` hold, by name,
    the digest of each covered host's ``Identity`` and of each of the plan's as they were when the operator said yes: a
    host that is another machine since then is not covered. ``expires_ticks`` is the end on the clock that counts from
    ``boot``: the wall clock may be set, this one may not.
    """

    id: str
    session_id: str
    opened_at: datetime
    expires_at: datetime
    opened_by: str
    scope: Scope
    hosts: tuple[str, ...]
    risk: Risk
    expires_ticks: float
    boot: str
    cover_until: datetime | None = None
    plan_id: str | None = None
    bound: Mapping[str, str] = field(default_factory=dict)
    plan_bound: Mapping[str, str] = field(default_factory=dict)
    ended_at: datetime | None = None
    ended_why: Ended | None = None
    continuations: int = 0
    used: tuple[str, ...] = ()  # ids of executions that ran under it

    def is_open(self, now: datetime) -> bool:
        """Whether it is open at ``now`` by the wall clock: what pages show. Whether something may run, ``holds`` says.

        A clock that was set back to before its opening does not prolong it.
        """
        return self.ended_at is None and self.opened_at - CLOCK_SLACK <= now < self.expires_at

    def holds(self, moment: Moment) -> bool:
        """Whether it is open by both clocks: the wall clock, and the one that nobody can set."""
        return self.is_open(moment.now) and self.boot == moment.boot and moment.ticks < self.expires_ticks

    def covers(self, host: str, identity: str, risk: Risk, moment: Moment) -> bool:
        """Whether any command of this risk on this host, if it still has this identity, runs unasked."""
        covering = self.holds(moment) and self.cover_until is not None and moment.now < self.cover_until
        known = host in self.hosts and self.bound.get(host) == identity
        return covering and known and risk.rank <= self.risk.rank


def over(window: Window, moment: Moment, latest: datetime) -> Ended | None:
    """Why an open window is over at ``moment``; None where it goes on.

    :param latest: the latest wall time that Nomos has noted. After a restart of the machine only the wall clock can
        say how long that took; a clock that stands before what was noted cannot.
    """
    if window.boot != moment.boot and moment.now < latest - CLOCK_SLACK:
        return Ended.CLOCK
    if not window.is_open(moment.now):
        return Ended.EXPIRED
    return Ended.EXPIRED if window.boot == moment.boot and moment.ticks >= window.expires_ticks else None


@dataclass(frozen=True, slots=True)
class Gate:
    """The gate's answer: whether the command may run at once, and on what ground. ``step`` counts from 0."""

    runs: bool
    ground: str
    plan_id: str | None = None
    step: int | None = None
    parallel: bool = False


def gate(
    *, risk: Risk, host: str, identity: str, command: str, window: Window | None, plan: Plan | None, moment: Moment
) -> Gate:
    """Decide whether a command runs at once. Who or what started the turn makes no difference.

    ``read`` runs, and is said to be a step of the plan where it is one. Everything else needs an open window: the
    approved plan that it belongs to must name the exact command on that host, or (never for ``destroy``) the window
    must cover host and risk. ``plan`` is the plan that the window belongs to, ``identity`` the digest of what the host
    is now, ``risk`` what today's rules say. What comes close to a step that the operator left out or edited asks,
    whatever is covered.
    """
    ours = plan is not None and window is not None and plan.id == window.plan_id
    approved = plan is not None and ours and plan.state is PlanState.APPROVED
    number = plan.number_of(host, command) if plan is not None and approved else None
    if risk is Risk.READ:
        step_of = plan.id if plan is not None and number is not None else None
        return Gate(True, "it changes nothing", step_of, number)
    if window is None or not window.holds(moment):
        return Gate(False, "no assent window is open")
    if plan is not None and number is not None:
        step = plan.steps[number]
        if risk.rank > step.risk.rank:
            return Gate(False, f"the plan was approved when this was {step.risk}; today's rules say {risk}")
        if window.plan_bound.get(host) != identity:
            return Gate(False, f"{host} is not as it was when the plan was approved")
        return Gate(True, "the approved plan names it", plan.id, number, step.parallel)
    if plan is not None and approved and against_the_operator(plan, host, command):
        return Gate(False, "the operator left this step out of the plan, or edited it")
    if risk is Risk.DESTROY:
        return Gate(False, "what destroys needs its own approval, or a plan that names this exact command")
    if window.covers(host, identity, risk, moment):
        return Gate(True, "the assent window covers it", window.plan_id)
    return Gate(False, "the assent window does not cover it")
