"""The same migrations on both engines: up, down, at once by several, and never on a newer database."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from flask_migrate import downgrade, upgrade
from sqlalchemy import inspect, text

from nomos.errors import DatabaseTooNew
from nomos.store import journal, schema
from nomos.store.engine import Store, configure
from nomos.store.rows import metadata
from tests.harness.database import Database, NoHints, for_sqlalchemy, migrate, new_app
from tests.harness.postgres import Postgres
from tests.harness.scene import Scene
from tests.harness.threads import all_fine

ROOT = Path(__file__).parents[2]


def test_the_migrations_make_exactly_the_tables_of_the_code(database: Database) -> None:
    engine = database.engine()
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_down_and_up_again(database: Database) -> None:
    app = new_app()
    engine = configure(app, database.url)
    schema.register(app)
    with app.app_context():
        downgrade(directory=str(schema.MIGRATIONS), revision="base")
        assert set(inspect(engine).get_table_names()) == {"alembic_version"}
        assert schema.current(engine) is None
        upgrade(directory=str(schema.MIGRATIONS))
    assert schema.is_current(engine)
    engine.dispose()
    Scene(database.open(), database.clock).begin().say("hello")


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_several_processes_that_start_at_once_on_a_new_database(
    kind: str, in_memory: Path, request: pytest.FixtureRequest
) -> None:
    if kind == "sqlite":
        url = f"sqlite:///{in_memory / 'new.db'}"
    else:
        server: Postgres = request.getfixturevalue("postgres")
        url = for_sqlalchemy(server.database())
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    code = "import sys; from tests.harness.database import migrate; migrate(sys.argv[1])"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, url], cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    for process in started:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    database = Database(url, in_memory)
    engines = [Store(database.engine(), NoHints()) for _ in range(4)]
    all_fine([lambda store=store: store.prepare(database.clock.now()) for store in engines])  # type: ignore[misc]
    with engines[0].read() as connection:
        assert journal.head(connection).seq == 0
    for store in engines:
        store.close()


def test_a_newer_database_is_refused_and_left_alone(database: Database) -> None:
    engine = database.engine()
    with engine.connect() as connection, connection.begin():
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(DatabaseTooNew, match=r"9999.*newer Nomos wrote it.*Nothing was started or changed"):
        migrate(database.url)
    with engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == "9999"
    engine.dispose()


def test_the_command_line_says_so_in_one_line(database: Database, tmp_path: Path) -> None:
    engine = database.engine()
    with engine.connect() as connection, connection.begin():
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    engine.dispose()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "NOMOS_HOME": str(tmp_path),
        "DATABASE_URL": database.url,
    }
    for words in (["db", "upgrade"], ["worker"]):
        done = subprocess.run(
            [sys.executable, "-m", "nomos", *words], cwd=ROOT, env=environment, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert len(done.stderr.splitlines()) == 1, done.stderr
        assert "a newer Nomos wrote it" in done.stderr
