"""``POST /sessions/{id}/messages``."""

from __future__ import annotations

from typing import Any

from flask import Blueprint

from nomos.actions import messages as actions
from nomos.domain import shapes
from nomos.web import parsing
from nomos.web.context import web
from nomos.web.security import actor, allow
from nomos.web.sessions import checked_id

bp = Blueprint("messages", __name__, url_prefix="/api/v1/sessions/<session_id>/messages")


@bp.post("")
@allow("chat")
def create(session_id: str) -> tuple[dict[str, Any], int]:
    """Say something. Answered before anything slow begins; the same ``client_id`` again gives the same answer."""
    form = parsing.body(parsing.NewMessage)
    who = actor()
    message = actions.send(
        web().store,
        checked_id(session_id),
        form.client_id,
        parsing.message_text(form.text),
        web().clock.moment(),
        by=who.name,
        minutes=web().assent_minutes,
        may_decide=bool(who.scopes & {"decide", "admin"}),
    )
    return shapes.message(message), 202
