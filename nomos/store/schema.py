"""The schema's version: bring a database up to date, and refuse one that is too new."""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from flask import Flask
from flask_migrate import Migrate, upgrade
from sqlalchemy import Engine

from nomos.errors import DatabaseTooNew
from nomos.store.rows import db

MIGRATIONS = Path(__file__).parents[2] / "migrations"


def register(app: Flask) -> None:
    """Make ``flask db …`` and ``upgrade_to_head`` work on ``app``."""
    Migrate(app, db, directory=str(MIGRATIONS), render_as_batch=True)


def _known() -> tuple[set[str], str | None]:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    return {script.revision for script in scripts.walk_revisions()}, scripts.get_current_head()


def current(engine: Engine) -> str | None:
    """The revision that the database is at; None where it is empty.

    :raises DatabaseTooNew: it is one that this code does not know.
    """
    with engine.connect() as connection:
        revision = MigrationContext.configure(connection).get_current_revision()
    if revision is not None and revision not in _known()[0]:
        raise DatabaseTooNew(
            f"The database is at revision {revision}, which this Nomos does not know: a newer Nomos wrote it. "
            "Nothing was started or changed. Start that version, or restore a backup."
        )
    return revision


def is_current(engine: Engine) -> bool:
    """Whether nothing is left to migrate."""
    return current(engine) == _known()[1]


def upgrade_to_head(app: Flask, engine: Engine) -> None:
    """Bring the database up to date.

    :raises DatabaseTooNew: a newer Nomos wrote it.
    """
    if not is_current(engine):
        with app.app_context():
            upgrade(directory=str(MIGRATIONS))
