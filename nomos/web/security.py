"""Who asks, and whether they may: sign-in cookie with CSRF token, or bearer token with scopes. Closed by default."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from argon2 import PasswordHasher
from argon2.exceptions import VerificationError
from flask import Flask, current_app, g, has_request_context, redirect, request, session, url_for
from flask_wtf.csrf import CSRFProtect
from werkzeug.wrappers import Response as BaseResponse

from nomos.actions import users as user_actions
from nomos.actions.users import SCOPES
from nomos.domain.audit import NOMOS, Kind, Who
from nomos.errors import Forbidden, InvalidInput, NotSignedIn
from nomos.store import users
from nomos.web.context import web

SIGN_IN_LASTS = timedelta(days=7)
SHORTEST_PASSWORD = 12
LONGEST_PASSWORD = 1024
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)

hasher = PasswordHasher(time_cost=2, memory_cost=19 * 1024, parallelism=1)
# Verified where the name is unknown, so that the time taken tells nothing.
_NOBODY = hasher.hash("nobody has this password")

_csrf = CSRFProtect()
View = TypeVar("View", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Actor:
    """Who asks. ``by_token`` tells the API from a person at the page."""

    name: str
    scopes: frozenset[str]
    by_token: bool


def allow(scope: str) -> Callable[[View], View]:
    """Declare who may use a view: a scope, or ``public``. A view without it answers nobody."""

    def mark(view: View) -> View:
        cast(Any, view).nomos_scope = scope
        return view

    return mark


def actor() -> Actor:
    """Who asks now.

    :raises NotSignedIn: nobody that Nomos knows.
    """
    found = _find()
    if found is None:
        raise NotSignedIn
    return found


def signed_in() -> Actor | None:
    """Who asks now, None for nobody that Nomos knows."""
    return _find()


def _find() -> Actor | None:
    if "nomos_actor" not in g:
        g.nomos_actor = _by_token() if "Authorization" in request.headers else _by_cookie()
    return cast("Actor | None", g.nomos_actor)


def _by_token() -> Actor | None:
    scheme, _, secret = request.headers["Authorization"].partition(" ")
    if scheme.lower() != "bearer" or not secret.startswith(users.TOKEN_PREFIX):
        return None
    with web().store.read() as connection:
        token = users.token(connection, secret.strip())
    return None if token is None else Actor(token.name, token.scopes, by_token=True)


def _by_cookie() -> Actor | None:
    secret = session.get("login")
    if not isinstance(secret, str):
        return None
    with web().store.read() as connection:
        user = users.signed_in(connection, secret, web().now() - SIGN_IN_LASTS)
    return None if user is None else Actor(user.name, frozenset(SCOPES), by_token=False)


def who() -> Who:
    """Who makes the change that is asked for now, for the audit; by which route, and from which address."""
    if not has_request_context():
        return NOMOS
    found = signed_in()
    if found is None:
        return Who(Kind.NOBODY, "nobody", "page", request.remote_addr)
    if found.by_token:
        return Who(Kind.TOKEN, found.name, "api", request.remote_addr)
    return Who(Kind.OPERATOR, found.name, "page", request.remote_addr)


def still_allowed(scope: str) -> Callable[[], bool]:
    """A check for an open stream, to be asked again later: is whoever opened it still signed in, or the token valid?"""
    parts, header, secret = web(), request.headers.get("Authorization"), session.get("login")

    def check() -> bool:
        with parts.store.read() as connection:
            if header is not None:
                token = users.token(connection, header.partition(" ")[2].strip())
                return token is not None and _covers(token.scopes, scope)
            since = parts.now() - SIGN_IN_LASTS
            return isinstance(secret, str) and users.signed_in(connection, secret, since) is not None

    return check


def _covers(scopes: frozenset[str], scope: str) -> bool:
    return scope in scopes or "admin" in scopes


def _guard() -> BaseResponse | None:
    view = current_app.view_functions.get(request.endpoint or "")
    if view is None:
        return None  # no such address: answered as 404
    scope = getattr(view, "nomos_scope", None)
    if request.endpoint == "static_file" or scope == "public":
        if request.method == "POST":
            _csrf.protect()
        return None
    if scope is None:
        raise Forbidden("This address is not open to anybody.")
    found = _find()
    if found is None:
        if request.path.startswith("/api/") or request.method != "GET":
            raise NotSignedIn
        return redirect(url_for("pages.login", next=request.full_path.rstrip("?")))
    if not _covers(found.scopes, scope):
        raise Forbidden(f"This token may not do this: it needs the scope {scope}. Nothing was changed.")
    if request.method not in {"GET", "HEAD", "OPTIONS"} and not found.by_token:
        _check_origin()
        _csrf.protect()
    return None


def _check_origin() -> None:
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != request.host:
        raise Forbidden("This came from another site. Nothing was changed.")


def sign_in(name: str, password: str) -> bool:
    """Begin a sign-in in this browser if name and password fit. Takes the same time whether or not the name exists."""
    with web().store.read() as connection:
        user = users.by_name(connection, name.strip())
    try:
        hasher.verify(user.password_hash if user is not None else _NOBODY, password[:LONGEST_PASSWORD])
    except VerificationError:
        user = None
    if user is None:
        user_actions.note_failed_sign_in(web().store, name.strip(), web().now())
        return False
    new_hash = hasher.hash(password) if hasher.check_needs_rehash(user.password_hash) else None
    secret = user_actions.sign_in(web().store, user, web().now(), new_hash=new_hash)
    session.clear()
    session["login"] = secret
    session.permanent = True
    return True


def sign_out() -> None:
    """End this browser's sign-in."""
    secret = session.pop("login", None)
    if isinstance(secret, str):
        user_actions.sign_out(web().store, secret, web().now())
    session.clear()


def check_password(password: str) -> str:
    """Return the password's hash if it may be used.

    :raises InvalidInput: it is too short or too long.
    """
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise InvalidInput(f"The password needs at least {SHORTEST_PASSWORD} characters.", field="password")
    return hasher.hash(password)


def secret_key(home: Path) -> str:
    """The key that signs cookies: made once, kept in the data folder (0600)."""
    path = home / "secret_key"
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        key = secrets.token_hex(32)
        file.write(key)
    return key


def _headers(response: BaseResponse) -> BaseResponse:
    response.headers.setdefault("Content-Security-Policy", POLICY)
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("X-Frame-Options", "DENY")
    response.headers.setdefault("Referrer-Policy", "same-origin")
    response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    if "Cache-Control" not in response.headers:
        response.headers["Cache-Control"] = "no-store"
    return response


def register(app: Flask, key: str) -> None:
    """Guard every view of ``app``."""
    app.config.update(
        SECRET_KEY=key,
        SESSION_COOKIE_NAME="nomos",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
        PERMANENT_SESSION_LIFETIME=SIGN_IN_LASTS,
        WTF_CSRF_CHECK_DEFAULT=False,
        WTF_CSRF_TIME_LIMIT=None,
        WTF_CSRF_HEADERS=["X-CSRF-Token"],
        MAX_CONTENT_LENGTH=1024 * 1024,
    )
    _csrf.init_app(app)
    app.before_request(_guard)
    app.after_request(_headers)
