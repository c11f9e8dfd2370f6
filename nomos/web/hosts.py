"""``/hosts``: the inventory. Looking at a host is the worker's work; it is asked for here, and the feed tells."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from nomos.actions import hosts as actions
from nomos.domain import shapes
from nomos.store import hosts
from nomos.web import parsing
from nomos.web.context import web
from nomos.web.security import allow
from nomos.web.sessions import checked_id

bp = Blueprint("hosts", __name__, url_prefix="/api/v1/hosts")


@bp.get("")
@allow("read")
def index() -> dict[str, Any]:
    """All hosts."""
    with web().store.read() as connection:
        return {"hosts": [shapes.host(value) for value in hosts.every(connection)]}


@bp.get("/<host_id>")
@allow("read")
def show(host_id: str) -> dict[str, Any]:
    """One host."""
    with web().store.read() as connection:
        return shapes.host(hosts.get(connection, checked_id(host_id, "host")))


@bp.post("")
@allow("admin")
def create() -> tuple[dict[str, Any], int]:
    """Add a host, and have its key looked at."""
    form = parsing.body(parsing.NewHost)
    value = actions.add(web().store, form.name, form.address, web().now())
    return shapes.host(actions.request_test(web().store, value.id, web().now())), 201


@bp.post("/<host_id>/test")
@allow("admin")
def test(host_id: str) -> tuple[dict[str, Any], int]:
    """Ask the worker to look at the host."""
    return shapes.host(actions.request_test(web().store, checked_id(host_id, "host"), web().now())), 202


@bp.post("/<host_id>/trust")
@allow("admin")
def trust(host_id: str) -> dict[str, Any]:
    """Trust the key that the host showed, by its fingerprint."""
    form = parsing.body(parsing.TrustedKey)
    return shapes.host(actions.trust(web().store, checked_id(host_id, "host"), form.fingerprint, web().now()))


@bp.delete("/<host_id>")
@allow("admin")
def remove(host_id: str) -> tuple[str, int]:
    """Take a host out of the inventory."""
    actions.remove(web().store, checked_id(host_id, "host"), web().now())
    return "", 204
