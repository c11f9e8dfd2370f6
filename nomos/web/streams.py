"""The feed: ``GET /events`` and ``GET /sessions/{id}/events``."""

from __future__ import annotations

from flask import Blueprint, Response, request

from nomos.domain.events import Type
from nomos.errors import InvalidInput
from nomos.live.hub import Wants
from nomos.live.stream import Cursor, open_stream
from nomos.store import sessions
from nomos.web.context import web
from nomos.web.problems import problem
from nomos.web.security import allow, still_allowed
from nomos.web.sessions import checked_id

bp = Blueprint("streams", __name__, url_prefix="/api/v1")

MOST_STREAMS = 1000


@bp.get("/events")
@allow("events")
def every() -> Response:
    """What happens in all sessions."""
    session_id = request.args.get("session")
    wants = Wants(
        session_id=checked_id(session_id) if session_id else None,
        types=_types(),
        host=request.args.get("host") or None,
        output=_flag("output"),
    )
    return _stream(wants, reset_to="/api/v1/sessions")


@bp.get("/sessions/<session_id>/events")
@allow("events")
def one(session_id: str) -> Response:
    """What happens in one session, output included; with ``list=1`` also how all other sessions stand."""
    session_id = checked_id(session_id)
    with web().store.read() as connection:
        sessions.get(connection, session_id)
    wants = Wants(
        session_id=session_id,
        types=_types(),
        host=request.args.get("host") or None,
        output=True,
        listed=_flag("list"),
    )
    return _stream(wants, reset_to=f"/api/v1/sessions/{session_id}")


def _stream(wants: Wants, reset_to: str) -> Response:
    parts = web()
    if parts.hub.ending.is_set():
        answer = problem(503, "ending", "Nomos is shutting down. Come back with the same cursor.")
        answer.headers["Retry-After"] = "2"
        return answer
    if parts.hub.streams >= MOST_STREAMS:
        answer = problem(503, "too_many_streams", f"{MOST_STREAMS} streams are open already. Come back later.")
        answer.headers["Retry-After"] = "30"
        return answer
    parts.tailer.start()
    cursor = Cursor.parse(request.headers.get("Last-Event-ID") or request.args.get("after"))
    frames = open_stream(
        parts.store, parts.hub, wants, cursor, reset_to=request.script_root + reset_to,
        allowed=still_allowed("events"),
    )  # fmt: skip
    # The bare media type: with a charset some proxies no longer know it for an event stream.
    answer = Response(frames, headers={"Content-Type": "text/event-stream"})
    answer.headers["Cache-Control"] = "no-cache, no-transform"
    answer.headers["X-Accel-Buffering"] = "no"
    return answer


def _flag(name: str) -> bool:
    return request.args.get(name) in {"1", "true"}


def _types() -> frozenset[Type] | None:
    """The types asked for, with or without their prefix; a noun alone stands for all of its types."""
    wanted = [part.strip() for part in request.args.get("types", "").split(",") if part.strip()]
    if not wanted:
        return None
    found: set[Type] = set()
    for name in wanted:
        full = name if name.startswith("nomos.") else f"nomos.{name}"
        fitting = {kind for kind in Type if kind == full or kind.startswith(f"{full}.")}
        if not fitting:
            raise InvalidInput(f"types: {name} is none of {', '.join(Type)}.", field="types")
        found |= fitting
    return frozenset(found)
