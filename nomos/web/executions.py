"""``/executions``: what ran, its output, and its cancellation."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from nomos.actions import executions as actions
from nomos.actions.undo import propose_undo
from nomos.domain import shapes
from nomos.domain.executions import State
from nomos.errors import InvalidInput
from nomos.store import executions
from nomos.store import output as output_store
from nomos.web import parsing
from nomos.web.context import web
from nomos.web.security import actor, allow
from nomos.web.sessions import checked_id

bp = Blueprint("executions", __name__, url_prefix="/api/v1/executions")

MOST_OUTPUT = 1024 * 1024  # bytes in one answer


@bp.get("")
@allow("read")
def index() -> dict[str, Any]:
    """Executions that fit the filters, newest first."""
    states = [part for part in request.args.get("state", "").split(",") if part]
    if unknown := [part for part in states if part not in list(State)]:
        raise InvalidInput(f"state: {unknown[0]} is none of {', '.join(State)}.", field="state")
    session_id = request.args.get("session")
    with web().store.read() as connection:
        found = executions.search(
            connection,
            states=[State(part) for part in states],
            host=request.args.get("host") or None,
            session_id=checked_id(session_id) if session_id else None,
            since=parsing.moment("from"),
            until=parsing.moment("to"),
            limit=parsing.number("limit", 200, most=1000) or 200,
        )
    return {"executions": [shapes.execution(value) for value in found]}


@bp.get("/<execution_id>")
@allow("read")
def show(execution_id: str) -> dict[str, Any]:
    """One execution."""
    with web().store.read() as connection:
        return shapes.execution(executions.get(connection, checked_id(execution_id, "execution")))


@bp.get("/<execution_id>/output")
@allow("read")
def output(execution_id: str) -> dict[str, Any]:
    """A range of the stored output, as text; ``offset`` and ``end`` count bytes."""
    offset = parsing.number("offset", 0) or 0
    limit = parsing.number("limit", 64 * 1024, most=MOST_OUTPUT) or 64 * 1024
    with web().store.read() as connection:
        value = executions.get(connection, checked_id(execution_id, "execution"))
        start, raw = output_store.read(connection, value.id, offset, limit)
    return {
        "execution_id": value.id,
        "offset": start,
        "end": start + len(raw),
        "output_bytes": value.output_bytes,
        "truncated": value.truncated,
        "text": raw.decode("utf-8", "replace"),
    }


@bp.get("/<execution_id>/output.txt")
@allow("read")
def output_text(execution_id: str) -> Response:
    """All of the stored output, byte for byte; a line says where the middle of a long one is not stored.

    Plain text, never rendered by a browser as anything else.
    """
    with web().store.read() as connection:
        value = executions.get(connection, checked_id(execution_id, "execution"))
        raw = output_store.whole(connection, value)
    return Response(raw, content_type="text/plain; charset=utf-8")


@bp.post("/<execution_id>/input")
@allow("decide")
def answer(execution_id: str) -> tuple[dict[str, Any], int]:
    """Give a line of input to a command that asks for one."""
    form = parsing.body(parsing.InputLine)
    value = actions.answer(web().store, checked_id(execution_id, "execution"), form.text, web().now(), by=actor().name)
    return shapes.execution(value), 202


@bp.post("/<execution_id>/undo")
@allow("chat")
def undo(execution_id: str) -> tuple[dict[str, Any], int]:
    """Ask for the command that undoes it. It waits for its own approval."""
    value = propose_undo(web().store, checked_id(execution_id, "execution"), web().now(), by=actor().name)
    return shapes.execution(value), 201


@bp.post("/<execution_id>/cancellation")
@allow("chat")
def cancel(execution_id: str) -> tuple[dict[str, Any], int]:
    """Ask for its end. It is ``cancelled`` once the host has confirmed it."""
    value = actions.cancel(web().store, checked_id(execution_id, "execution"), web().now(), by=actor().name)
    return shapes.execution(value), 202
