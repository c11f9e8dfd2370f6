"""Approvals: a question to the operator about exact content."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from nomos.domain.drift import Drift
from nomos.domain.executions import Risk
from nomos.domain.hosts import Identity
from nomos.domain.undo import Snapshots
from nomos.domain.windows import Scope
from nomos.errors import AlreadyDecided, DigestMismatch, InvalidInput, Withdrawn


class ApprovalState(StrEnum):
    """Where an approval stands. It never dies by time."""

    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    WITHDRAWN = "withdrawn"


TRANSITIONS: Mapping[ApprovalState, frozenset[ApprovalState]] = {
    ApprovalState.PENDING: frozenset({ApprovalState.APPROVED, ApprovalState.DENIED, ApprovalState.WITHDRAWN}),
    ApprovalState.APPROVED: frozenset(),
    ApprovalState.DENIED: frozenset(),
    ApprovalState.WITHDRAWN: frozenset(),
}


class ApprovalKind(StrEnum):
    """What is asked about."""

    COMMAND = "command"
    PLAN = "plan"


class Verdict(StrEnum):
    """The operator's answer. There are no others."""

    APPROVE = "approve"
    DENY = "deny"


class Route(StrEnum):
    """How the answer came."""

    BUTTON = "button"
    CHAT = "chat"
    API = "api"
    NOTIFICATION = "notification"


@dataclass(frozen=True, slots=True)
class Approval:
    """A question about one command (``execution_id``) or one plan (``plan_id``). ``digest`` binds what is shown.

    ``risk_why``: the classifier's reason for the risk; of a plan, that of its strictest step. ``drift``: the step of
    the approved plan that the command is close to. ``bound``: each host as it was when asked; the digest covers it.
    ``changed``: what was different from an earlier question in whose place this one was asked. ``used_at``: when the
    command that it allows was started.
    """

    id: str
    session_id: str
    state: ApprovalState
    kind: ApprovalKind
    risk: Risk
    title: str
    reason: str
    digest: str
    scopes: tuple[Scope, ...]
    requested_at: datetime
    execution_id: str | None = None
    plan_id: str | None = None
    command: str | None = None
    host: str | None = None
    decided_at: datetime | None = None
    decided_by: str | None = None
    route: Route | None = None
    scope: Scope | None = None
    note: str | None = None
    risk_why: str = ""
    drift: Drift | None = None
    snapshots: Snapshots = Snapshots.OFF
    bound: tuple[Identity, ...] = ()
    changed: str | None = None
    used_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """What ``decide`` found: ``repeat`` means that the same answer was given before and nothing is to be done."""

    verdict: Verdict
    scope: Scope | None
    repeat: bool


def scopes_for(kind: ApprovalKind, risk: Risk) -> tuple[Scope, ...]:
    """The scopes that may be granted, narrowest first. A single ``destroy`` command is approved once or not at all."""
    if kind is ApprovalKind.PLAN:
        return (Scope.PLAN, Scope.WINDOW)
    return (Scope.ONCE,) if risk is Risk.DESTROY else (Scope.ONCE, Scope.WINDOW)


def already(approval: Approval) -> AlreadyDecided:
    """The error that says who decided, how and when."""
    when = approval.decided_at.isoformat(timespec="seconds") if approval.decided_at else "before"
    return AlreadyDecided(
        f"This was already {approval.state} by {approval.decided_by} ({approval.route}) at {when}. "
        "That answer stands; nothing was changed."
    )


def decide(approval: Approval, verdict: Verdict, scope: Scope | None, digest: str | None) -> Settled:
    """Check an answer against the question.

    :param scope: None takes the widest that the question offers. :param digest: what the operator was shown; None
        only for chat, where Nomos itself checks that the question is the one last asked.
    :raises Withdrawn: the question is no longer asked. :raises AlreadyDecided: it has another answer.
    :raises DigestMismatch: the operator was shown something else. :raises InvalidInput: the scope is not offered.
    """
    if approval.state is ApprovalState.WITHDRAWN:
        raise Withdrawn
    if digest is not None and digest != approval.digest:
        raise DigestMismatch
    if approval.state is not ApprovalState.PENDING:
        wanted = ApprovalState.APPROVED if verdict is Verdict.APPROVE else ApprovalState.DENIED
        same_scope = verdict is Verdict.DENY or scope is None or scope is approval.scope
        if approval.state is wanted and same_scope:
            return Settled(verdict, approval.scope, repeat=True)
        raise already(approval)
    if verdict is Verdict.DENY:
        return Settled(verdict, None, repeat=False)
    if scope is not None and scope not in approval.scopes:
        offered = ", ".join(approval.scopes)
        raise InvalidInput(f"scope: {scope} is not offered here, only {offered}. Nothing was decided.", field="scope")
    return Settled(verdict, scope or approval.scopes[-1], repeat=False)
