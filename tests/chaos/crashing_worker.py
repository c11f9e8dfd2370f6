"""A worker that kills itself at one chosen point: before or after a commit, or around what it does outside.

``python -m tests.chaos.crashing_worker`` runs one worker with the settings of its environment, as ``nomos worker``
does; ``CHAOS_AT`` names the point (``""`` for none), ``CHAOS_POINTS`` a file that gets a line for each point passed,
``CHAOS_LEASE`` the seconds a claim holds. With ``CHAOS_NURSERY`` it waits for such environments on stdin, one JSON
object a line, and answers each with the pid of a worker that it forks: that costs a tenth of a start.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import text

from nomos.bootstrap.core import open_core
from nomos.bootstrap.worker import LEASE, create_worker
from nomos.config import Settings
from nomos.domain.replies import Reply
from nomos.llm.base import Model, ModelRequest, Piece
from nomos.ssh.base import HostFacts, HostKey, JobStatus, Limits, Shell, Target
from nomos.store.engine import Store
from nomos.store.hints import Hints
from nomos.store.transaction import Tx

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
# Between the commit and the action that asked for it.
_MACHINERY = ("/store/engine.py", "/contextlib.py", "/chaos/crashing_worker.py", "/sqlalchemy/")


class Points:
    """Counts the points that this process passes, and dies at the chosen one: ``<name>#<n>``, its n-th time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._at = environment.get("CHAOS_AT", "")
        self._file = Path(environment["CHAOS_POINTS"]) if environment.get("CHAOS_POINTS") else None
        self._passed: Counter[str] = Counter()
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        with self._lock:
            self._passed[name] += 1
            here = f"{name}#{self._passed[name]}"
            if self._file is not None:
                with self._file.open("a") as file:
                    file.write(f"{here}\n")
            if here == self._at:
                os.kill(os.getpid(), signal.SIGKILL)


def crashing_store(points: Points) -> type[Store]:
    """A store that passes a point before each commit that changes anything, and after it, before the hint is sent."""

    class CrashingHints:
        def __init__(self, hints: Hints) -> None:
            self._hints = hints

        def send(self) -> None:
            points(f"{_asked_by()} | committed")
            self._hints.send()

        def listen(self, on_hint: Callable[[], None], ended: threading.Event) -> None:
            self._hints.listen(on_hint, ended)

    class CrashingStore(Store):
        def __init__(self, engine: Any, hints: Hints) -> None:
            super().__init__(engine, CrashingHints(hints))

        @contextmanager
        def write(self, now: datetime) -> Iterator[Tx]:
            name = _asked_by()
            with super().write(now) as tx:
                before = self._changes(tx)
                yield tx
                wrote = self._changes(tx) != before
                if wrote:
                    points(f"{name} | before the commit")
            if wrote and not tx.records:
                points(f"{name} | committed")

        def _changes(self, tx: Tx) -> object:
            question = "SELECT pg_current_xact_id_if_assigned()" if self.shared else "SELECT total_changes()"
            return tx.c.execute(text(question)).scalar_one()

    return CrashingStore


def _asked_by() -> str:
    """The action whose transaction this is."""
    frame: Any = sys._getframe(1)
    while frame is not None and any(part in frame.f_code.co_filename for part in _MACHINERY):
        frame = frame.f_back
    return f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}" if frame is not None else "?"


class CrashingShell:
    """A shell that passes a point before and after each thing it does on a host."""

    def __init__(self, shell: Shell, points: Points) -> None:
        self._shell = shell
        self._points = points

    @contextmanager
    def _around(self, name: str) -> Iterator[None]:
        self._points(f"{name} | before")
        yield
        self._points(f"{name} | after")

    def scan(self, target: Target) -> HostKey:
        return self._shell.scan(target)

    def probe(self, target: Target, *, fresh: bool = True) -> HostFacts:
        return self._shell.probe(target, fresh=fresh)

    def start(self, target: Target, job_id: str, command: str, limits: Limits) -> JobStatus:
        with self._around("Shell.start"):
            return self._shell.start(target, job_id, command, limits)

    def follow(
        self, target: Target, job_id: str, offset: int, on_bytes: Callable[[bytes], None], stop: Callable[[], bool]
    ) -> JobStatus:
        with self._around("Shell.follow"):
            return self._shell.follow(target, job_id, offset, on_bytes, stop)

    def status(self, target: Target, job_id: str) -> JobStatus:
        return self._shell.status(target, job_id)

    def cancel(self, target: Target, job_id: str, *, kill: bool = False) -> JobStatus:
        with self._around("Shell.cancel"):
            return self._shell.cancel(target, job_id, kill=kill)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._shell, name)

    def close(self) -> None:
        self._shell.close()


class CrashingModel:
    """A model that passes a point before it is asked, with each first piece, and after its answer."""

    def __init__(self, model: Model, points: Points) -> None:
        self._model = model
        self._points = points

    @property
    def name(self) -> str:
        return self._model.name

    def stream(
        self, request: ModelRequest, on_piece: Callable[[Piece], None], stopped: Callable[[], bool], *,
        first_try: bool = True,
    ) -> Reply:  # fmt: skip
        self._points("Model.stream | before")
        begun = False

        def on_first_piece(piece: Piece) -> None:
            nonlocal begun
            on_piece(piece)
            if not begun:
                begun = True
                self._points("Model.stream | begun")

        reply = self._model.stream(request, on_first_piece, stopped, first_try=first_try)
        self._points("Model.stream | after")
        return reply


def run(environment: Mapping[str, str]) -> int:
    """Run one worker until it is told to end, or dies. Returns its exit code."""
    points = Points(environment)
    core = open_core(Settings.from_env(environment), store_type=crashing_store(points))
    running = create_worker(
        core,
        around_shell=lambda shell: CrashingShell(shell, points),
        around_model=lambda model: CrashingModel(model, points),
        lease=float(environment.get("CHAOS_LEASE", LEASE)),
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.worker.stop())
    code = running.worker.run()
    running.close()
    sys.stdout.flush()
    return code


def nursery() -> None:
    """Fork a worker for each environment that comes; nobody has to wait for their ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        environment = json.loads(line)
        pid = os.fork()
        if pid:
            print(pid, flush=True)  # noqa: T201 - the answer
            continue
        os.setsid()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # nothing outlives a test run that is killed
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        log = os.open(environment["CHAOS_LOG"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.clear()
        os.environ.update(environment)
        code = 1
        try:
            code = run(environment)
        finally:
            os._exit(code)


if __name__ == "__main__":
    if "CHAOS_NURSERY" in os.environ:
        nursery()
    else:
        os._exit(run(os.environ))
