"""The Flask application: every resource, guarded, with its errors."""

from __future__ import annotations

from flask import Flask

from nomos.web import (
    approvals,
    assets,
    executions,
    health,
    hosts,
    messages,
    pages,
    problems,
    security,
    sessions,
    shutdown,
    streams,
    summary,
)
from nomos.web.context import Web


def install(app: Flask, parts: Web) -> None:
    """Make ``app`` Nomos's web side, over ``parts``."""
    app.extensions["nomos"] = parts
    security.register(app, security.secret_key(parts.home))
    problems.register(app)
    assets.register(app)
    for module in (pages, sessions, messages, approvals, executions, hosts, streams, summary, health):
        app.register_blueprint(module.bp)
    shutdown.watch(parts.hub)
