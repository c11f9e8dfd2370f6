"""Databases for tests, on both engines: migrated once, copied for each test."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from flask import Flask
from sqlalchemy import Engine

from nomos.clock import SettableClock
from nomos.store import schema
from nomos.store.engine import Store, configure
from nomos.store.hints import Hints, PostgresHints, SocketHints
from tests.harness.postgres import Postgres


class NoHints:
    """Hints that never arrive: what is found must have been found by looking."""

    def send(self) -> None:
        return None

    def listen(self, on_hint: object, ended: object) -> None:
        return None


def new_app() -> Flask:
    """An application for one database."""
    return Flask("tests")


def migrate(url: str) -> None:
    """Bring the database at ``url`` up to date, as a process does that starts."""
    app = new_app()
    engine = configure(app, url)
    try:
        schema.register(app)
        schema.upgrade_to_head(app, engine)
    finally:
        engine.dispose()


@dataclass(slots=True)
class Database:
    """One database of one test, opened as often as it likes: each ``open`` is what another process would have."""

    url: str
    folder: Path
    clock: SettableClock = field(default_factory=SettableClock)
    _opened: list[Store] = field(default_factory=list)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.url.startswith("sqlite")

    def engine(self) -> Engine:
        """Another engine on it."""
        return configure(new_app(), self.url)

    def open(self, *, hints: bool = False) -> Store:
        """Another store on it; without ``hints`` none are sent and none arrive."""
        engine = self.engine()
        real: Hints = SocketHints(self.folder / "hints") if self.is_sqlite else PostgresHints(engine)
        store = Store(engine, real if hints else NoHints())
        store.prepare(self.clock.now())
        self._opened.append(store)
        return store

    def close(self) -> None:
        """Close all that was opened."""
        for store in self._opened:
            store.close()
        self._opened.clear()


class Templates:
    """One migrated database an engine, and copies of it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._sqlite: Path | None = None
        self._postgres: str | None = None

    def sqlite(self, folder: Path) -> Database:
        """A migrated SQLite database in ``folder``."""
        if self._sqlite is None:
            path = self._folder / "template.db"
            migrate(f"sqlite:///{path}")
            self._sqlite = path
        copy = folder / "nomos.db"
        shutil.copy(self._sqlite, copy)
        return Database(f"sqlite:///{copy}", folder)

    def postgres(self, server: Postgres, folder: Path) -> Database:
        """A migrated PostgreSQL database."""
        if self._postgres is None:
            url = server.database()
            migrate(for_sqlalchemy(url))
            self._postgres = url
        return Database(for_sqlalchemy(server.database(like=self._postgres)), folder)


def for_sqlalchemy(url: str) -> str:
    """The address as the settings turn it: with the driver in it."""
    return url.replace("postgresql://", "postgresql+psycopg://", 1)
