"""The pages: drawn on the server from a snapshot, continued by the feed."""

from __future__ import annotations

import hmac
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint, redirect, render_template, request, url_for
from flask_wtf.csrf import generate_csrf
from werkzeug.wrappers import Response as BaseResponse

from nomos.actions import users as user_actions
from nomos.domain import shapes
from nomos.errors import InvalidInput, NotFound
from nomos.store import hosts, journal, sessions, snapshots, users
from nomos.web import presenting
from nomos.web.context import web
from nomos.web.security import actor, allow, check_password, sign_in, sign_out, signed_in
from nomos.web.sessions import PAGE, checked_id

bp = Blueprint("pages", __name__)

SETUP_FILE = "setup-token"


@bp.app_context_processor
def _always() -> dict[str, Any]:
    return {"csrf_token": generate_csrf()}


@bp.get("/")
@allow("read")
def start() -> str:
    """A new session to be, beside the list of sessions."""
    return _session_page(None)


@bp.get("/sessions/<session_id>")
@allow("read")
def session(session_id: str) -> str:
    """One session."""
    return _session_page(checked_id(session_id))


def _session_page(session_id: str | None) -> str:
    with web().store.read() as connection:
        head = journal.head(connection)
        value = None if session_id is None else snapshots.session(connection, session_id, limit=PAGE)
        every = sessions.every(connection)
        practice = any(host.practice for host in hosts.every(connection))
    snapshot = None if value is None else presenting.snapshot(value, head.epoch, web().now())
    data = {
        "snapshot": snapshot,
        "sessions": [shapes.session(other) for other in every],
        "rehearsal": {"model": web().rehearses_model, "host": practice},
        "operator": actor().name,
        "assent_minutes": web().assent_minutes,
        "epoch": head.epoch,
        "seq": f"{head.epoch}.{head.seq}",
    }
    return render_template("sessions/show.html", page_data=data, operator=actor().name)


@bp.get("/hosts")
@allow("admin")
def inventory() -> str:
    """The hosts."""
    with web().store.read() as connection:
        head = journal.head(connection)
        known = hosts.every(connection)
        every = sessions.every(connection)
    data = {
        "hosts": [shapes.host(host) for host in known],
        "sessions": [shapes.session(other) for other in every],
        "rehearsal": {"model": web().rehearses_model, "host": any(host.practice for host in known)},
        "operator": actor().name,
        "public_key": web().public_key,
        "epoch": head.epoch,
        "seq": f"{head.epoch}.{head.seq}",
    }
    return render_template("hosts.html", page_data=data, operator=actor().name, public_key=web().public_key)


@bp.route("/login", methods=["GET", "POST"])
@allow("public")
def login() -> BaseResponse | str | tuple[str, int]:
    """Sign in."""
    if request.method == "GET":
        if signed_in() is not None:
            return redirect(url_for("pages.start"))
        return render_template("login.html", next=_inside(request.args.get("next")))
    name = request.form.get("name", "")
    if sign_in(name, request.form.get("password", "")):
        return redirect(_inside(request.form.get("next")) or url_for("pages.start"))
    page = render_template(
        "login.html", error="Name or password is wrong.", name=name, next=_inside(request.form.get("next"))
    )
    return page, 401


def _inside(address: str | None) -> str | None:
    """The address if it leads to a page of this Nomos, so that no link can send the operator elsewhere."""
    if not address or not address.startswith("/") or address.startswith(("//", "/\\")):
        return None
    parts = urlsplit(address)
    return address if not parts.scheme and not parts.netloc else None


@bp.post("/logout")
@allow("read")
def logout() -> BaseResponse:
    """Sign out."""
    sign_out()
    return redirect(url_for("pages.login"))


@bp.route("/setup/<token>", methods=["GET", "POST"])
@allow("public")
def setup(token: str) -> BaseResponse | str | tuple[str, int]:
    """Make the first account. The link works until there is one."""
    expected = setup_token(web().home)
    with web().store.read() as connection:
        taken = users.count(connection) > 0
    if taken or expected is None or not hmac.compare_digest(expected.encode(), token.encode()):
        raise NotFound(
            "This link does not work (any more). `nomos setup-link` prints the present one, if there is one."
        )
    if request.method == "GET":
        return render_template("setup.html")
    name, password = request.form.get("name", ""), request.form.get("password", "")
    if password != request.form.get("password_again"):
        return render_template("setup.html", error="The two passwords are not the same.", name=name), 400
    try:
        user_actions.add_first(web().store, name, check_password(password), web().now())
    except InvalidInput as error:
        return render_template("setup.html", error=error.detail, name=name), 400
    (web().home / SETUP_FILE).unlink(missing_ok=True)
    sign_in(name, password)
    return redirect(url_for("pages.start"))


def setup_token(home: Path) -> str | None:
    """The one-time token, None where none was made."""
    try:
        return (home / SETUP_FILE).read_text(encoding="ascii").strip() or None
    except OSError:
        return None
