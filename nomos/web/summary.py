"""``GET /summary``: one flat look for dashboards. Names never change; there are only additions."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from flask import Blueprint

from nomos import __version__
from nomos.domain.approvals import ApprovalState
from nomos.domain.executions import State
from nomos.domain.hosts import HostState
from nomos.domain.sessions import SessionState
from nomos.domain.shapes import time
from nomos.store import approvals, executions, hosts, sessions
from nomos.web.context import web
from nomos.web.security import allow

bp = Blueprint("summary", __name__, url_prefix="/api/v1")

BAD = (State.FAILED, State.TIMED_OUT, State.UNKNOWN, State.UNREACHABLE)


@bp.get("/summary")
@allow("read")
def show() -> dict[str, Any]:
    """How everything stands, as numbers and one word."""
    now = web().now()
    with web().store.read() as connection:
        pending = approvals.every(connection, ApprovalState.PENDING)
        running = executions.search(connection, states=[State.STARTING, State.RUNNING], limit=1000)
        today = executions.search(connection, since=now - timedelta(days=1), limit=10_000)
        inventory = hosts.every(connection)
        open_sessions = sessions.every(connection)
    failed = sum(1 for execution in today if execution.state in BAD)
    ended = [execution for execution in today if execution.ended_at is not None]
    last = max(ended, key=lambda execution: execution.ended_at or now, default=None)
    worker_away = web().hub.health.get("worker") == "away"
    status = "degraded" if worker_away else "attention" if pending else "ok"
    words = "worker away" if worker_away else f"{len(pending)} waiting for you" if pending else "nothing waits for you"
    return {
        "status": status,
        "status_text": words,
        "version": __version__,
        "generated_at": time(now),
        "waiting": len(pending),
        "running": len(running),
        "failed_24h": failed,
        "succeeded_24h": sum(1 for execution in today if execution.state is State.SUCCEEDED),
        "hosts_up": sum(1 for host in inventory if host.state is HostState.REACHABLE),
        "hosts_total": len(inventory),
        "sessions_open": sum(
            1 for session in open_sessions if session.state in {SessionState.WORKING, SessionState.WAITING}
        ),
        "oldest_wait_seconds": int((now - pending[0].requested_at).total_seconds()) if pending else 0,
        "last_outcome": None if last is None else last.state,
        "last_at": None if last is None else time(last.ended_at),
        "items": [
            {"id": a.id, "name": a.host or "plan", "label": f"waiting: {a.title}"[:255], "state": "waiting",
             "url": f"/sessions/{a.session_id}"}
            for a in pending[:20]
        ],
    }  # fmt: skip
