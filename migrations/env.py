"""Alembic's environment: the application's engine, the store's tables."""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from flask import current_app

database = current_app.extensions["migrate"].db


def render(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Write our own type for times as what it is in the database, so that a migration stands by itself."""
    if kind == "type" and type(item).__name__ == "Utc":
        return "sa.DateTime(timezone=True)"
    return False


def run() -> None:
    """Migrate online, in one transaction: the old schema or the new one, never something between."""
    with database.engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            connection = connection.execution_options(nomos_writes=True)
        context.configure(
            connection=connection,
            target_metadata=database.metadata,
            render_as_batch=True,
            compare_type=True,
            render_item=render,
            transactional_ddl=True,
        )
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()


run()
