"""Databases of both engines. A missing PostgreSQL fails the test: what was not run on it is not known to work there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomos.clock import SettableClock
from nomos.store.engine import Store
from tests.harness.database import Database, Templates
from tests.harness.postgres import Postgres, running_postgres
from tests.harness.scene import Scene


@pytest.fixture(scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """Migrated databases to copy."""
    return Templates(tmp_path_factory.mktemp("templates"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server for all tests that need one."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def in_memory() -> Iterator[Path]:
    """A folder on a disk in memory where there is one: thousands of commits need not wait for a real disk."""
    fast = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="nomos-", dir=fast if fast.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, templates: Templates, in_memory: Path) -> Iterator[Database]:
    """A migrated database, once on each engine."""
    if request.param == "sqlite":
        database = templates.sqlite(in_memory)
        yield database
        database.close()
    else:
        server: Postgres = request.getfixturevalue("postgres")
        database = templates.postgres(server, in_memory)
        yield database
        database.close()
        server.drop(database.url)


@pytest.fixture
def store(database: Database) -> Store:
    """A store on the database, without hints."""
    return database.open()


@pytest.fixture
def clock(database: Database) -> SettableClock:
    """The clock that the scene's acts go by."""
    return database.clock


@pytest.fixture
def scene(store: Store, clock: SettableClock) -> Scene:
    """A session with a host."""
    return Scene(store, clock).begin()
