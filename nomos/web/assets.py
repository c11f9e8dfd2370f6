"""Static files under a hash of the whole tree: relative imports carry it along, so they can be cached for ever."""

from __future__ import annotations

import hashlib
from pathlib import Path

from flask import Flask, Response, send_from_directory, url_for

from nomos.errors import NotFound
from nomos.web.context import web
from nomos.web.security import allow

STATIC = Path(__file__).parents[2] / "static"


def tree_hash(folder: Path = STATIC) -> str:
    """A short hash over the names and bytes of all files below ``folder``."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            digest.update(str(path.relative_to(folder)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def register(app: Flask) -> None:
    """Serve static files, and give templates ``asset(name)``."""

    @app.get("/static/<version>/<path:name>", endpoint="static_file")
    @allow("public")
    def static_file(version: str, name: str) -> Response:
        if version != web().static_version:
            raise NotFound("This page is older than what runs now. Load it again.")
        response = send_from_directory(STATIC, name)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response

    @app.template_global("asset")
    def asset(name: str) -> str:
        return url_for("static_file", version=web().static_version, name=name)
