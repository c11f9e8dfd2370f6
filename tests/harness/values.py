"""Values of the domain with everything filled in, so that a test names only what it is about."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

from nomos.domain.approvals import Approval, ApprovalKind, ApprovalState
from nomos.domain.executions import Execution, Risk, State
from nomos.domain.plans import Plan, PlanState, Step
from nomos.domain.windows import Scope, Window

NOW = datetime(2026, 12, 1, 13, 0, tzinfo=UTC)
EXECUTION_ID = "3b1c6f0e-0000-4000-8000-000000000001"
MINUTE = timedelta(minutes=1)
TICKS = 1000.0  # what the boot clock shows at NOW
IDENTITY = "i" * 64  # the digest of what ``nas`` is


def execution(state: State = State.SUCCEEDED, **changes: Any) -> Execution:
    """An execution of ``uptime`` on ``nas``."""
    value = Execution(
        id=EXECUTION_ID, session_id="s", message_id="m", block_id="b", host="nas", command="uptime", reason="to look",
        risk=Risk.READ, risk_why="it only looks", state=state, digest="d", asynchronous=False, queued_at=NOW,
    )  # fmt: skip
    return dataclasses.replace(value, **changes)


def approval(state: ApprovalState = ApprovalState.PENDING, **changes: Any) -> Approval:
    """A question about one command on ``nas``."""
    value = Approval(
        id="a", session_id="s", state=state, kind=ApprovalKind.COMMAND, risk=Risk.CHANGE, title="Run on nas",
        reason="to fix it", digest="d" * 64, scopes=(Scope.ONCE, Scope.WINDOW), requested_at=NOW,
        execution_id=EXECUTION_ID, command="systemctl restart web", host="nas",
    )  # fmt: skip
    return dataclasses.replace(value, **changes)


def plan(*steps: Step, state: PlanState = PlanState.APPROVED, id_: str = "p") -> Plan:
    """A plan; once approved, with all its steps."""
    value = Plan(
        id=id_, session_id="s", message_id="m", block_id="b", goal="a goal", verify="look", steps=steps, state=state,
        created_at=NOW,
    )  # fmt: skip
    return value.approve(None) if state is PlanState.APPROVED and steps else value


def window(**changes: Any) -> Window:
    """A window opened at NOW for 30 minutes that covers changes on ``nas`` and the plan ``p``."""
    value = Window(
        id="w", session_id="s", opened_at=NOW, expires_at=NOW + 30 * MINUTE, opened_by="ada", scope=Scope.WINDOW,
        hosts=("nas",), risk=Risk.CHANGE, cover_until=NOW + 30 * MINUTE, plan_id="p",
        expires_ticks=TICKS + 1800, boot="boot", bound={"nas": IDENTITY}, plan_bound={"nas": IDENTITY},
    )  # fmt: skip
    return dataclasses.replace(value, **changes)
