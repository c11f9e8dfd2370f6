"""One small world a test: a database of its own, workers that can be told to die, the driver's hand on the store."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import text

from nomos.actions import approvals as approval_actions
from nomos.actions import hosts as host_actions
from nomos.actions import messages as message_actions
from nomos.actions import sessions as session_actions
from nomos.clock import SystemClock
from nomos.domain.approvals import ApprovalState, Route, Verdict
from nomos.ssh.base import Target
from nomos.ssh.keys import fingerprint
from nomos.store import approvals
from nomos.store.engine import Store, configure
from nomos.store.hints import Hints, PostgresHints, SocketHints
from tests.chaos.script import Files
from tests.harness.database import NoHints, Templates, for_sqlalchemy, new_app
from tests.harness.model_server import ScriptedModelServer
from tests.harness.postgres import Postgres
from tests.harness.sshd import Sshd
from tests.harness.wait import wait_for

ROOT = Path(__file__).parents[2]
HOST = "lab"
MINUTES = 30


class Nursery:
    """Forks workers from a process that has everything loaded. ``with Nursery() as nursery``."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.crashing_worker"], cwd=ROOT, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={"PATH": os.environ["PATH"], "CHAOS_NURSERY": "1"}, text=True,
        )  # fmt: skip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(20)
        self._process.stdout.close()

    def start(self, environment: dict[str, str]) -> Worker:
        """Start a worker."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(environment) + "\n")
            self._process.stdin.flush()
            return Worker(int(self._process.stdout.readline()))


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process; also the leader of its group."""

    pid: int

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def send(self, number: signal.Signals) -> None:
        """Send a signal to its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def kill(self) -> None:
        """End it as a crash does, and wait for that."""
        self.send(signal.SIGKILL)
        wait_for(lambda: not self.alive, 10, "the worker's end")


class Databases:
    """Databases with the host in them, trusted, copied for each world."""

    def __init__(self, folder: Path, target: Target, postgres: Postgres | None = None) -> None:
        self._templates = Templates(folder)
        self._folder = folder
        self._target = target
        self._server = postgres
        self._sqlite = self._prepared_sqlite()
        self._postgres = self._prepared_postgres(postgres) if postgres is not None else None

    def sqlite(self, path: Path) -> str:
        """The address of a new SQLite database."""
        shutil.copy(self._sqlite, path)
        return f"sqlite:///{path}"

    def postgres(self) -> str:
        """The address of a new PostgreSQL database."""
        assert self._server is not None
        return for_sqlalchemy(self._server.database(like=self._postgres))

    def _prepared_sqlite(self) -> Path:
        folder = self._folder / "sqlite"
        folder.mkdir()
        database = self._templates.sqlite(folder)
        self._add_host(database.open())
        database.close()
        return folder / "nomos.db"

    def _prepared_postgres(self, server: Postgres) -> str:
        database = self._templates.postgres(server, self._folder)
        self._add_host(database.open())
        database.close()
        return database.url

    def _add_host(self, store: Store) -> None:
        now, target = SystemClock().now(), self._target
        address = f"{target.user}@{target.address}:{target.port}"
        host = host_actions.add(store, HOST, address, now, key_path=target.key_path)
        assert target.host_key is not None
        assert target.job_base is not None
        key = " ".join(target.host_key.split()[:2])
        host_actions.offer_key(store, host.id, key, fingerprint(key), now)
        host_actions.trust(store, host.id, fingerprint(key), now)
        host_actions.note_facts(store, host.id, now, boot="", job_base=target.job_base, system="", latency_ms=1)


@dataclass(slots=True)
class World:
    """A database, its worker, and traces on the host.

    ``restarts``: how often the worker was found dead. ``hints``: whether the driver sends any.
    """

    nursery: Nursery
    model: ScriptedModelServer
    home: Path
    url: str
    settings: dict[str, str] = field(default_factory=dict)
    workers: list[Worker] = field(default_factory=list)
    restarts: int = 0
    hints: bool = True
    files: Files = field(init=False)
    clock: SystemClock = field(init=False, default_factory=SystemClock)
    store: Store = field(init=False)

    def __enter__(self) -> Self:
        self.files = Files(self.home / "files").make()
        engine = configure(new_app(), self.url)
        sqlite = self.url.startswith("sqlite")
        real: Hints = SocketHints(self.home / "hints") if sqlite else PostgresHints(engine)
        self.store = Store(engine, real if self.hints else NoHints())
        self.store.prepare(self.clock.now())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self.workers:
            worker.kill()
        self.store.close()

    @property
    def log(self) -> Path:
        """What the workers wrote."""
        return self.home / "worker.log"

    @property
    def points(self) -> list[str]:
        """The points that workers passed, in order."""
        path = self.home / "points"
        return path.read_text().splitlines() if path.exists() else []

    def start_worker(self, at: str = "", **more: str) -> Worker:
        """Start a worker that dies at a point."""
        worker = self.nursery.start({**self.environment, "CHAOS_AT": at, **more})
        self.workers.append(worker)
        return worker

    @property
    def environment(self) -> dict[str, str]:
        """The settings of its processes."""
        return {
            "PATH": os.environ["PATH"],
            "NOMOS_HOME": str(self.home),
            "DATABASE_URL": self.url,
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "sk-test",
            "NOMOS_RETRY_SECONDS": "0.05",
            "NOMOS_MAX_CONTINUATIONS": "1000",
            "NOMOS_REHEARSAL": "off",
            "CHAOS_LOG": str(self.log),
            **self.settings,
        }

    def open_session(self) -> str:
        """Open a session."""
        return session_actions.open_session(self.store, None, self.clock.now()).id

    def say(self, session_id: str, words: str, client_id: str = "task") -> None:
        """Say something as the operator."""
        message_actions.send(
            self.store, session_id, client_id, words, self.clock.moment(), by="ada", minutes=MINUTES, may_decide=True
        )

    def approve(self) -> None:
        """Approve all that is asked."""
        with self.store.read() as c:
            pending = approvals.every(c, ApprovalState.PENDING)
        for approval in pending:
            approval_actions.settle(
                self.store, approval.id, Verdict.APPROVE, self.clock.moment(), by="ada", route=Route.BUTTON,
                digest=approval.digest, minutes=MINUTES,
            )  # fmt: skip

    def keep_alive(self) -> None:
        """Start a worker anew if the last one is dead."""
        if not self.workers[-1].alive:
            self.restarts += 1
            self.start_worker()

    def at_rest(self) -> bool:
        """Whether every session's work is done and nobody holds anything."""
        with self.store.read() as c:
            busy = c.execute(text("SELECT count(*) FROM sessions WHERE state <> 'done' OR due > handled")).scalar_one()
            held = c.execute(
                text("SELECT (SELECT count(*) FROM sessions WHERE claim_owner IS NOT NULL)"
                     " + (SELECT count(*) FROM executions WHERE claim_owner IS NOT NULL)")
            ).scalar_one()  # fmt: skip
        return not busy and not held

    def answers(self) -> int:
        """How many answers of the model were stored."""
        with self.store.read() as c:
            return int(c.execute(text("SELECT count(*) FROM answers")).scalar_one())

    def told(self) -> str:
        """What a failure is explained by: sessions, executions, the workers' log."""
        with self.store.read() as c:
            rows = [
                *c.execute(text("SELECT id, state, ending, due, handled, claim_owner FROM sessions")),
                *c.execute(text("SELECT id, command, state, detail, claim_owner, continued_at FROM executions")),
                *c.execute(text("SELECT id, role, origin, status FROM messages ORDER BY created_at")),
            ]
        words = self.log.read_text() if self.log.exists() else ""
        return "\n".join(map(str, rows)) + "\n" + words[-4000:]


@contextlib.contextmanager
def short_folder() -> Iterator[Path]:
    """A folder with a short path: sockets lie in it."""
    folder = Path(tempfile.mkdtemp(prefix="nc-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def pulse(seconds: float = 0.02) -> None:
    """The pause between two looks of a driver that acts on what it sees."""
    until = time.monotonic() + seconds
    wait_for(lambda: time.monotonic() >= until, seconds + 60, "the clock")


def rows(store: Store, question: str, **values: Any) -> list[Any]:
    """What the database answers."""
    with store.read() as c:
        return list(c.execute(text(question), values))


__all__ = ["HOST", "Databases", "Nursery", "Sshd", "Worker", "World", "pulse", "rows", "short_folder"]
