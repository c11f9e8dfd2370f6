"""Alembic's environment: the application's engine, the store's tables."""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from flask import current_app

LOCK = 0x6E6F6D6F73  # any number that nobody else takes in this database

database = current_app.extensions["migrate"].db


def render(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Write our own types as what they are in the database, so that a migration stands by itself."""
    if kind != "type":
        return False
    return {"Utc": "sa.DateTime(timezone=True)", "Words": "sa.Text()"}.get(type(item).__name__, False)


def run() -> None:
    """Migrate online, in one transaction: the old schema or the new one, never something between."""
    with database.engine.connect() as opened:
        connection = opened.execution_options(nomos_writes=True)  # SQLite takes its write lock before the first look
        context.configure(
            connection=connection,
            target_metadata=database.metadata,
            render_as_batch=True,
            compare_type=True,
            render_item=render,
            transactional_ddl=True,
        )
        with context.begin_transaction():
            if connection.dialect.name == "postgresql":
                # Two processes that start at once: the second waits here, and finds nothing left to do.
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
            context.run_migrations()
        connection.commit()


run()
