"""What the audit says of each thing that is done: value in, plain facts out, with the exact bytes."""

from __future__ import annotations

from typing import Any

from nomos.domain.approvals import Approval
from nomos.domain.executions import Execution
from nomos.domain.hosts import Host
from nomos.domain.plans import Plan
from nomos.domain.shapes import time
from nomos.domain.windows import Window


def execution(value: Execution) -> dict[str, Any]:
    """An execution was queued, started or ended, or its end was asked for: what, and on what ground."""
    return {
        "execution": value.id,
        "command": value.command,
        "digest": value.digest,
        "risk": value.risk,
        "rule": value.risk_why,
        "state": value.state,
        "approval": value.approval_id,
        "plan": value.plan_id,
        "undoes": value.undoes,
        "guard": value.guard_revert,
        "started": time(value.started_at),
        "ended": time(value.ended_at),
        "exit": value.exit_code,
        "detail": value.detail,
    }


def approval(value: Approval, plan: Plan | None) -> dict[str, Any]:
    """An approval was decided, edited or withdrawn: the answer, its route, and the exact bytes that it is about."""
    return {
        "approval": value.id,
        "kind": value.kind,
        "verdict": value.state,
        "by": value.decided_by,
        "route": value.route,
        "scope": value.scope,
        "note": value.note,
        "digest": value.digest,
        "risk": value.risk,
        "rule": value.risk_why,
        "execution": value.execution_id,
        "host": value.host,
        "command": value.command,
        "plan": value.plan_id,
        "steps": None if plan is None else [
            {"host": step.host, "command": step.command, "risk": step.risk, "rule": step.risk_why,
             "approved": step.approved}
            for step in plan.steps
        ],
    }  # fmt: skip


def window(value: Window) -> dict[str, Any]:
    """A window was opened, extended or revoked, or is over."""
    return {
        "window": value.id,
        "by": value.opened_by,
        "opened": time(value.opened_at),
        "expires": time(value.expires_at),
        "ended": time(value.ended_at),
        "ended_why": value.ended_why,
        "scope": value.scope,
        "hosts": list(value.hosts),
        "risk": value.risk,
        "covers_until": time(value.cover_until),
        "plan": value.plan_id,
    }


def host(value: Host) -> dict[str, Any]:
    """A host was added, trusted or removed."""
    return {
        "host": value.name,
        "address": value.address,
        "port": value.port,
        "user": value.user,
        "host_key": value.fingerprint,
        "practice": value.practice,
    }
