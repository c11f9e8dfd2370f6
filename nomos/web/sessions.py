"""``/sessions``: list, open, look, rename, stop, window."""

from __future__ import annotations

import uuid
from typing import Any

from flask import Blueprint, request

from nomos.actions import sessions as actions
from nomos.actions import windows as window_actions
from nomos.domain import shapes
from nomos.errors import InvalidInput, NotFound
from nomos.store import journal, messages, sessions, snapshots
from nomos.web import parsing, presenting
from nomos.web.context import web
from nomos.web.security import actor, allow

bp = Blueprint("sessions", __name__, url_prefix="/api/v1/sessions")

PAGE = 200  # messages of one snapshot


def checked_id(value: str, what: str = "session") -> str:
    """An id in its one written form.

    :raises NotFound: it is no id, so there is no such thing.
    """
    try:
        return str(uuid.UUID(value))
    except ValueError as error:
        raise NotFound(f"There is no such {what}. Nothing was changed.") from error


@bp.get("")
@allow("read")
def index() -> dict[str, Any]:
    """The sessions, newest change first."""
    archived = request.args.get("archived") in {"1", "true"}
    with web().store.read() as connection:
        return {"sessions": [shapes.session(value) for value in sessions.every(connection, archived=archived)]}


@bp.post("")
@allow("chat")
def create() -> tuple[dict[str, Any], int]:
    """Open a session."""
    form = parsing.body(parsing.NewSession)
    return shapes.session(actions.open_session(web().store, form.title, web().now())), 201


@bp.get("/<session_id>")
@allow("read")
def show(session_id: str) -> dict[str, Any]:
    """The snapshot: the newest messages, or those before the message ``before``."""
    session_id = checked_id(session_id)
    before = request.args.get("before")
    with web().store.read() as connection:
        position = None
        if before:
            older = messages.get(connection, checked_id(before, "message"))
            if older.session_id != session_id:
                raise InvalidInput("before: that message is of another session.", field="before")
            position = older.position
        limit = parsing.number("limit", PAGE, most=1000) or PAGE
        value = snapshots.session(connection, session_id, limit=limit, before=position)
        epoch = journal.head(connection).epoch
    return presenting.snapshot(value, epoch, web().now())


@bp.patch("/<session_id>")
@allow("chat")
def change(session_id: str) -> dict[str, Any]:
    """Rename or archive."""
    form = parsing.body(parsing.ChangedSession)
    value = actions.change(web().store, checked_id(session_id), web().now(), title=form.title, archived=form.archived)
    return shapes.session(value)


@bp.post("/<session_id>/stop")
@allow("chat")
def stop(session_id: str) -> tuple[dict[str, Any], int]:
    """End the turn, and its running executions if asked. What the feed says afterwards is what is true."""
    form = parsing.body(parsing.StopTurn)
    value = actions.stop(
        web().store, checked_id(session_id), web().now(), with_executions=form.executions, by=actor().name
    )
    return shapes.session(value), 202


@bp.put("/<session_id>/window")
@allow("decide")
def extend(session_id: str) -> dict[str, Any]:
    """Extend the assent window, or reopen it."""
    form = parsing.body(parsing.WindowMinutes)
    value = window_actions.extend(
        web().store, checked_id(session_id), form.minutes, web().clock.moment(), by=actor().name
    )
    return {"window": shapes.window(value, web().now())}


@bp.delete("/<session_id>/window")
@allow("decide")
def revoke(session_id: str) -> dict[str, Any]:
    """Revoke the assent window. ``still_running``: the commands that go on all the same, until somebody stops them."""
    value, running = window_actions.revoke(web().store, checked_id(session_id), web().clock.moment())
    return {
        "window": shapes.window(value, web().now()),
        "still_running": [shapes.execution(execution) for execution in running],
    }
