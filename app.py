"""The WSGI object, for gunicorn and for ``flask --app app``."""

from __future__ import annotations

from nomos.bootstrap.web import create_app
from nomos.config import Settings

app = create_app(Settings.from_env())
