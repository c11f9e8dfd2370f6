"""What every process needs: settings, data folder, database, clock."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from flask import Flask

from nomos.actions import judging
from nomos.bootstrap.rules import load_rules
from nomos.clock import Clock, SystemClock
from nomos.config import Settings
from nomos.store import schema
from nomos.store.engine import DatabaseClock, Store, configure
from nomos.store.hints import Hints, PostgresHints, SocketHints

ROOT = Path(__file__).parents[2]
LONGEST_SOCKET_PATH = 70  # characters; a Unix socket's path holds 107, its name takes up to 30 of them


@dataclass(frozen=True, slots=True)
class Core:
    """What every process needs: the database, opened and at today's schema, and a clock that leases can rest on."""

    settings: Settings
    app: Flask
    store: Store
    clock: Clock


def open_core(settings: Settings, *, store_type: type[Store] = Store) -> Core:
    """Open the data folder and the database, and bring the schema up to date.

    :param store_type: the store's class; a test of crashes brings one that dies at a chosen commit.
    :raises DatabaseTooNew: a newer Nomos wrote the database. :raises SettingError: the operator's rules are wrong.
    """
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("paramiko", "apscheduler", "alembic", "httpx2", "nomos.ssh.wire", "nomos.rehearsal.host.ssh"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    judging.use(load_rules(settings.home))
    app = Flask("nomos", root_path=str(ROOT), template_folder="templates", static_folder=None)
    engine = configure(app, settings.database)
    schema.register(app)
    schema.upgrade_to_head(app, engine)
    hints: Hints = SocketHints(_socket_folder(settings)) if engine.dialect.name == "sqlite" else PostgresHints(engine)
    store = store_type(engine, hints)
    local = SystemClock()
    clock: Clock = DatabaseClock(store, local) if store.shared else local
    store.prepare(local.now())
    return Core(settings, app, store, clock)


def _socket_folder(settings: Settings) -> Path:
    folder = settings.home / "hints"
    if len(str(folder)) > LONGEST_SOCKET_PATH:
        name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"nomos-{os.getuid()}-{name}"
    return folder
