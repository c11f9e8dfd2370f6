"""The HTTP meaning of every error, given once. The API answers problem JSON (RFC 9457), pages a page."""

from __future__ import annotations

import logging

from flask import Flask, Response, json, render_template, request
from flask_wtf.csrf import CSRFError
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response as BaseResponse

from nomos import errors

log = logging.getLogger(__name__)

STATUS: dict[type[errors.NomosError], int] = {
    errors.InvalidInput: 400,
    errors.NotSignedIn: 401,
    errors.Forbidden: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.Withdrawn: 410,
    errors.TooLarge: 413,
    errors.HostFault: 502,
    errors.StoreUnavailable: 503,
    errors.StoreFull: 507,
}

_TITLES = {
    400: "This cannot be read",
    401: "Sign in first",
    403: "You may not do this",
    404: "There is no such thing",
    405: "This cannot be done here",
    409: "Not in this state",
    410: "No longer asked",
    413: "Too long",
    415: "Send JSON",
    500: "Nomos met a fault of its own",
    502: "The host could not be used",
    503: "Not now",
    507: "The disk is full",
}


def status_of(error: errors.NomosError) -> int:
    """The HTTP status of an error: that of its nearest kind."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 500)


def problem(status: int, code: str, detail: str, **more: object) -> Response:
    """One answer in problem JSON. ``code`` is stable; ``detail`` says what happened and what did not."""
    body = {"type": f"urn:nomos:{code}", "title": _TITLES.get(status, "Error"), "status": status, "code": code,
            "detail": detail, **more}  # fmt: skip
    return Response(json.dumps(body), status, content_type="application/problem+json")


def _wants_json() -> bool:
    return request.path.startswith("/api/") or request.path in {"/healthz", "/readyz", "/metrics"}


def _answer(status: int, code: str, detail: str, **more: object) -> BaseResponse:
    if _wants_json():
        return problem(status, code, detail, **more)
    page = render_template("error.html", status=status, title=_TITLES.get(status, "Error"), detail=detail)
    return Response(page, status)


def register(app: Flask) -> None:
    """Answer every error in its proper shape."""

    @app.errorhandler(errors.NomosError)
    def known(error: errors.NomosError) -> BaseResponse:
        status = status_of(error)
        if status >= 500 and not isinstance(error, errors.HostFault):
            log.error("%s", error.detail, exc_info=error)
        field = getattr(error, "field", None)
        return _answer(status, error.code, error.detail, **({"field": field} if field else {}))

    @app.errorhandler(CSRFError)
    def forged(error: CSRFError) -> BaseResponse:
        return _answer(403, "csrf", f"{error.description} Nothing was changed. Load the page again.")

    @app.errorhandler(HTTPException)
    def http(error: HTTPException) -> BaseResponse:
        status = error.code or 500
        code = {404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "not_json"}.get(status, "http")
        return _answer(status, code, f"{error.description} Nothing was changed.")

    @app.errorhandler(Exception)
    def unknown(error: Exception) -> BaseResponse:
        log.error("unexpected fault in %s %s", request.method, request.path, exc_info=error)
        return _answer(
            500, "internal", "This is a fault of Nomos; the log says more. What was asked was not done. Try again."
        )
