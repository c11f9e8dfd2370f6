"""``/healthz``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

import shutil
from typing import Any

from flask import Blueprint, Response
from prometheus_client import CollectorRegistry, Gauge, Info, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from nomos import __version__
from nomos.domain.approvals import ApprovalState
from nomos.domain.executions import State
from nomos.store import approvals, executions, hosts, sessions, workers
from nomos.web.context import web
from nomos.web.security import allow

bp = Blueprint("health", __name__)

WORKER_AWAY = 30.0  # seconds
LEAST_DISK = 0.05


@bp.get("/healthz")
@allow("public")
def alive() -> dict[str, str]:
    """The process answers. Looks at nothing else."""
    return {"status": "ok"}


@bp.get("/readyz")
@allow("public")
def ready() -> tuple[dict[str, Any], int]:
    """Whether all that Nomos needs is there; names what is not."""
    parts, failing = web(), []
    if not parts.store.answers():
        failing.append("database")
    else:
        moment = parts.clock.moment()
        with parts.store.read() as connection:
            sign = workers.latest(connection, moment)
        if sign is None or sign.age > WORKER_AWAY:
            failing.append("worker")
    usage = shutil.disk_usage(parts.home)
    if usage.free < usage.total * LEAST_DISK:
        failing.append("disk")
    return {"status": "not ready" if failing else "ok", "failing": failing}, 503 if failing else 200


@bp.get("/metrics")
@allow("read")
def metrics() -> Response:
    """Numbers for Prometheus."""
    registry = CollectorRegistry()
    Info("nomos_build", "Version of Nomos.", registry=registry).info({"version": __version__})
    parts = web()
    with parts.store.read() as connection:
        _count(registry, "nomos_hosts", "Hosts by state.", (host.state for host in hosts.every(connection)))
        _count(registry, "nomos_sessions", "Sessions by state.", (s.state for s in sessions.every(connection)))
        pending = len(approvals.every(connection, ApprovalState.PENDING))
        running = len(executions.search(connection, states=[State.STARTING, State.RUNNING], limit=1000))
        sign = workers.latest(connection, parts.clock.moment())
    Gauge("nomos_approvals_pending", "Approvals that wait.", registry=registry).set(pending)
    Gauge("nomos_executions_running", "Executions on hosts now.", registry=registry).set(running)
    Gauge("nomos_feed_clients", "Open streams.", registry=registry).set(parts.hub.streams)
    age = Gauge("nomos_worker_heartbeat_age_seconds", "Since the worker's last sign of life.", registry=registry)
    age.set(sign.age if sign is not None else float("inf"))
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _count(registry: CollectorRegistry, name: str, sentence: str, states: Any) -> None:
    gauge = Gauge(name, sentence, ["state"], registry=registry)
    for state in states:
        gauge.labels(state=str(state)).inc()
