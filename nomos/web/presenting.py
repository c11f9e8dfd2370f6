"""Values → the answers that are more than one shape: a session's snapshot."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from nomos.domain import shapes
from nomos.domain.snapshots import SessionSnapshot


def snapshot(value: SessionSnapshot, epoch: str, now: datetime) -> dict[str, Any]:
    """``GET /sessions/{id}``. ``seq`` is a cursor of the feed; ``outputs`` the tail of each execution's output."""
    return {
        "session": shapes.session(value.session),
        "messages": [shapes.message(message) for message in value.messages],
        "executions": [shapes.execution(execution) for execution in value.executions],
        "outputs": [shapes.output(output) for output in value.outputs],
        "approvals": [shapes.approval(approval) for approval in value.approvals],
        "plan": None if value.plan is None else shapes.plan(value.plan),
        "plans": [shapes.plan(plan) for plan in value.plans],
        "window": shapes.window(value.window, now),
        "older": value.older,
        "seq": f"{epoch}.{value.seq}",
    }
