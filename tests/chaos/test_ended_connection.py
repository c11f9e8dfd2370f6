"""A process that was frozen in a transaction finds it ended by PostgreSQL: said as a database that is away."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from nomos.errors import StoreUnavailable
from nomos.store.engine import Store
from tests.harness.database import Templates
from tests.harness.postgres import Postgres
from tests.harness.wait import wait_for


def gone(store: Store, pid: int) -> bool:
    with store.read() as c:
        return not c.execute(text("SELECT 1 FROM pg_stat_activity WHERE pid = :pid"), {"pid": pid}).all()


def freeze(store: Store, other: Store, now: datetime) -> None:
    """Be silent in a transaction until the server ends it, then go on."""
    with store.write(now) as tx:
        pid = tx.c.execute(text("SELECT pg_backend_pid()")).scalar_one()
        tx.c.execute(text("SET LOCAL idle_in_transaction_session_timeout = 50"))
        wait_for(lambda: gone(other, pid), 10, "the end of its connection")
        tx.c.execute(text("SELECT 1"))


def ask_wrongly(store: Store, now: datetime) -> None:
    with store.write(now) as tx:
        tx.c.execute(text("SELECT no such thing"))


def test_a_transaction_that_the_server_ended_is_a_database_that_is_away(postgres: Postgres, tmp_path: Path) -> None:
    database = Templates(tmp_path).postgres(postgres, tmp_path)
    store, other = database.open(), database.open()
    with pytest.raises(StoreUnavailable):
        freeze(store, other, database.clock.now())
    assert store.answers()
    with pytest.raises(SQLAlchemyError):
        ask_wrongly(store, database.clock.now())
    database.close()
