"""The web process."""

from __future__ import annotations

from flask import Flask

from nomos.bootstrap.core import open_core
from nomos.config import Settings
from nomos.live.hub import Hub
from nomos.live.tailer import Tailer
from nomos.ssh.keys import ensure_key
from nomos.store.hints import Wakeup
from nomos.web import assets
from nomos.web.app import install
from nomos.web.context import Web
from nomos.web.security import who


def create_app(settings: Settings) -> Flask:
    """The web process's application."""
    core = open_core(settings)
    hub = Hub(f"http://{settings.bind}/")
    parts = Web(
        store=core.store.acting_for(who),
        clock=core.clock,
        hub=hub,
        tailer=Tailer(core.store, core.clock, hub, Wakeup()),
        home=settings.home,
        public_key=ensure_key(settings.home / "ssh"),
        assent_minutes=settings.assent_minutes,
        rehearses_model=settings.rehearses,
        static_version=assets.tree_hash(),
    )
    install(core.app, parts)
    return core.app
