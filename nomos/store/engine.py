"""Opens the database, and gives out its transactions."""

from __future__ import annotations

import contextlib
import copy
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from flask import Flask
from pysqlite3 import dbapi2  # the wheel brings its own, newer SQLite
from sqlalchemy import Connection, Engine, event, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolExhausted

from nomos.clock import Moment
from nomos.domain.audit import NOMOS, Who
from nomos.errors import StoreFull, StoreUnavailable
from nomos.store import audit, journal
from nomos.store.hints import Hints
from nomos.store.rows import db, journal_head
from nomos.store.transaction import Tx

_NO_ROOM = ("database or disk is full", "no space left on device", "could not extend file")
OLDEST_SQLITE = (3, 51, 3)  # 3.7.0 to 3.51.2 can corrupt a database when the WAL is reset under load


def configure(app: Flask, url: str) -> Engine:
    """Give ``app`` the database at ``url`` and return its engine."""
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = _sqlite_options() if url.startswith("sqlite") else _postgres_options()
    db.init_app(app)
    with app.app_context():
        engine = db.engine
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _sqlite_options() -> dict[str, Any]:
    if dbapi2.sqlite_version_info < OLDEST_SQLITE:
        raise RuntimeError(f"SQLite {dbapi2.sqlite_version} has the WAL-reset bug; 3.51.3 or newer is needed")
    return {"module": dbapi2, "pool_size": 16, "max_overflow": 0, "pool_timeout": 10}


def _postgres_options() -> dict[str, Any]:
    return {
        "pool_size": 12,
        "max_overflow": 4,
        "pool_timeout": 10,
        "pool_pre_ping": True,
        "pool_recycle": 1800,
        "connect_args": {
            "connect_timeout": 5,
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 10_000,
            # Whoever is frozen in a transaction loses it before those who wait for its locks give up.
            "options": "-c statement_timeout=15000 -c lock_timeout=8000 -c idle_in_transaction_session_timeout=5000",
        },
    }


def _prepare_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # BEGIN is ours: the driver's own would come too late for a read
    cursor = connection.cursor()
    for pragma in (
        "journal_mode=WAL",
        "synchronous=FULL",
        "busy_timeout=5000",
        "foreign_keys=ON",
        "journal_size_limit=67108864",
        "temp_store=MEMORY",
    ):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("nomos_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


class Store:
    """The database as the rest of Nomos sees it."""

    def __init__(self, engine: Engine, hints: Hints) -> None:
        self._engine = engine
        self._who: Callable[[], Who] = lambda: NOMOS
        self.hints = hints
        self._sqlite = engine.dialect.name == "sqlite"
        # SQLite has one writer. Waiting for it here is fair and wakes at once; waiting in SQLite blocks the process.
        self._writing = threading.Lock()

    def acting_for(self, who: Callable[[], Who]) -> Store:
        """The same database, for changes that ``who`` makes; asked before each transaction, so it may read."""
        other = copy.copy(self)
        other._who = who
        return other

    @contextmanager
    def write(self, now: datetime) -> Iterator[Tx]:
        """One transaction: all of it, with its journal entries, or nothing. Sends the hint once it is committed.

        Nothing in it may wait for the network or for another thread.

        :raises StoreUnavailable: the database cannot be used now, or has no room (``StoreFull``).
        """
        who = self._who()
        if not self._sqlite:
            with self._transaction(now, who) as tx:
                yield tx
        else:
            with self._writing, self._transaction(now, who) as tx:
                yield tx
        if tx.records:
            self.hints.send()

    @contextmanager
    def _transaction(self, now: datetime, who: Who) -> Iterator[Tx]:
        options = {"nomos_writes": True}
        with _plainly(), self._engine.connect().execution_options(**options) as connection, connection.begin():
            tx = Tx(connection, now, who)
            yield tx
            journal.flush(tx)
            audit.flush(tx)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """One consistent look at everything.

        :raises StoreUnavailable: the database cannot be used now.
        """
        options = {"nomos_writes": False} if self._sqlite else {"isolation_level": "REPEATABLE READ"}
        with _plainly(), self._engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    @property
    def checked_out(self) -> int:
        """How many connections of the pool are in use now."""
        return self._engine.pool.checkedout()  # type: ignore[attr-defined, no-any-return]

    def server_ticks(self) -> float:
        """PostgreSQL's own clock, seconds: the same for all machines that share the database."""
        with self.read() as connection:
            return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    @property
    def shared(self) -> bool:
        """Whether other machines may use this database too."""
        return not self._sqlite

    def prepare(self, now: datetime) -> None:
        """Write the journal's head row if the database is new."""
        with self.read() as connection:  # the usual case: nobody has to wait for the write lock at every start
            if connection.execute(select(journal_head.c.id)).one_or_none() is not None:
                return
        with contextlib.suppress(IntegrityError), self.write(now) as tx:  # another process was first
            if tx.c.execute(select(journal_head.c.id)).one_or_none() is None:
                tx.c.execute(journal_head.insert().values(id=1, epoch=secrets.token_hex(4), seq=0, floor=0))

    def answers(self) -> bool:
        """Whether the database can be read now."""
        try:
            with self.read() as connection:
                connection.execute(select(journal_head.c.seq)).one()
        except StoreUnavailable:
            return False
        return True

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


@contextmanager
def _plainly() -> Iterator[None]:
    """Say in Nomos's own words that the database cannot be used. What is wrong with a statement stays as it is."""
    try:
        yield
    except (DBAPIError, PoolExhausted) as error:
        if not _is_away(error):
            raise
        cause = str(error.orig if isinstance(error, DBAPIError) else error).strip()
        kind = StoreFull if any(words in cause for words in _NO_ROOM) else StoreUnavailable
        raise kind(f"{kind.__doc__} (It said: {cause.splitlines()[0] if cause else type(error).__name__}.)") from error


def _is_away(error: DBAPIError | PoolExhausted) -> bool:
    """Whether the database or the way to it is at fault, and not what was asked."""
    if not isinstance(error, DBAPIError) or isinstance(error, OperationalError | InterfaceError):
        return True
    # A connection that the server ended (a process that was frozen in a transaction finds it so) is an InternalError.
    return error.connection_invalidated or str(getattr(error.orig, "sqlstate", "")).startswith(("08", "25", "57"))


class DatabaseClock:
    """A clock whose ticks are the database server's: for leases that several machines respect."""

    def __init__(self, store: Store, local: Any) -> None:
        self._store = store
        self._local = local

    def moment(self) -> Moment:
        return Moment(self.now(), self.ticks(), self.boot())

    def now(self) -> datetime:
        return self._local.now()  # type: ignore[no-any-return]

    def ticks(self) -> float:
        return self._store.server_ticks()

    def boot(self) -> str:
        return "database"
