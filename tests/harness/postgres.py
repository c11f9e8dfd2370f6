"""A real PostgreSQL server for tests: its own cluster in a temporary folder, on a loopback port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.harness.sshd import free_port
from tests.harness.wait import wait_for

OWNER = "postgres"  # the server refuses to run as root


def programs() -> Path:
    """The folder of the newest server programs: Debian keeps them out of the PATH."""
    if found := shutil.which("initdb"):
        return Path(found).parent
    newest = max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]), default=None)
    assert newest is not None, "PostgreSQL's server programs are missing: scripts/setup test installs them"
    return newest.parent


class Postgres:
    """One server. ``database()`` makes an empty database and returns its address."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="nomos-postgres-"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Make the cluster and wait until it answers."""
        if os.geteuid() == 0:
            owner = pwd.getpwnam(OWNER)
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
        cluster = str(self.folder / "cluster")
        subprocess.run(
            [*self._as_owner(), str(programs() / "initdb"), "-D", cluster, "-U", "nomos", "-A", "trust", "-E", "UTF8",
             "--locale=C.UTF-8", "--no-sync"],
            check=True, capture_output=True, cwd="/",
        )  # fmt: skip
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            # Nothing here outlives the test.
            "fsync": "off",
            "full_page_writes": "off",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*self._as_owner(), str(programs() / "postgres"), "-D", cluster, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
            )  # fmt: skip
        wait_for(self._answers, timeout=60, what="PostgreSQL to answer")

    def database(self, *, like: str | None = None) -> str:
        """The address of a new database: empty, or a copy of the one at ``like``, which nobody may be using."""
        name = f"test_{uuid.uuid4().hex}"
        template = "template1" if like is None else like.rsplit("/", 1)[1]
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}".encode())
        return self._address(name)

    def drop(self, address: str) -> None:
        """Remove a database, whoever may still be connected to it."""
        name = address.rsplit("/", 1)[1]
        with psycopg.connect(self._address("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

    def stop(self) -> None:
        """End the server and remove its folder."""
        if self._process is not None:
            # SIGQUIT ends it without a checkpoint; it is the parent of all its other processes.
            os.killpg(self._process.pid, signal.SIGQUIT)
            self._process.wait(timeout=30)
        shutil.rmtree(self.folder)

    def _address(self, database: str) -> str:
        return f"postgresql://nomos@127.0.0.1:{self.port}/{database}"

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "log").read_text(encoding="utf-8", errors="replace")
        try:
            psycopg.connect(self._address("postgres"), connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _as_owner(self) -> list[str]:
        # A test run that is killed takes its server with it.
        with_us = ["setpriv", "--pdeathsig", "QUIT"]
        return [*with_us, f"--reuid={OWNER}", f"--regid={OWNER}", "--init-groups"] if os.geteuid() == 0 else with_us


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """A server for as long as the block lasts."""
    server = Postgres()
    try:
        server.start()
        yield server
    finally:
        server.stop()
