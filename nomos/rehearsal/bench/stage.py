"""A whole Nomos under measurement: web and worker as processes, a model service and a practice host around them."""

from __future__ import annotations

import logging
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from nomos.actions import hosts as host_actions
from nomos.actions import users as user_actions
from nomos.clock import Clock
from nomos.rehearsal.bench.answers import PRACTICE, respond
from nomos.rehearsal.bench.client import PATIENCE, Client, NothingCame
from nomos.rehearsal.bench.seed import long_session
from nomos.rehearsal.host.server import PracticeHost
from nomos.rehearsal.model.server import ModelServer
from nomos.ssh.keys import ensure_key, fingerprint
from nomos.store.engine import Store

_ROOT = Path(__file__).resolve().parents[3]
_PORTS = range(20_000, 32_000)  # below those that clients are given
_SCOPES = frozenset({"read", "events", "chat", "decide", "admin"})


def environment(folder: Path) -> dict[str, str]:
    """The environment of a Nomos on ``folder`` and on nothing else: none of the operator's own settings is taken."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "NOMOS_HOME": str(folder / "nomos"),
        "NOMOS_BIND": f"127.0.0.1:{free_port()}",
        "NOMOS_LOG_LEVEL": "warning",
    }


def free_port() -> int:
    """A TCP port on loopback that nobody has now."""
    for port in random.sample(_PORTS, 50):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise NothingCame("No free port on 127.0.0.1 was found. Nothing was started.")


class Part:
    """One process of Nomos, and all that it starts."""

    def __init__(self, name: str, settings: Mapping[str, str], folder: Path) -> None:
        self.name = name
        self.log = folder / f"{name}.log"
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "nomos", name], cwd=_ROOT, env=dict(settings), stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def check(self) -> None:
        """:raises NothingCame: the process has ended; its last words."""
        if self._process.poll() is not None:
            said = self.log.read_text(errors="replace").strip().splitlines()
            raise NothingCame(f"The {self.name} process ended: {said[-1] if said else 'it said nothing'}")

    def stop(self) -> None:
        """End it in order, or at once if that takes too long."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                os.killpg(self._process.pid, number)
                try:
                    self._process.wait(15)
                except subprocess.TimeoutExpired:
                    continue

    def memory(self) -> int:
        """Resident memory of its processes, bytes."""
        return sum(int(fields[21]) for fields in self._stats()) * os.sysconf("SC_PAGE_SIZE")

    def processor(self) -> float:
        """Processor time that its processes have used, seconds."""
        return sum(int(fields[11]) + int(fields[12]) for fields in self._stats()) / os.sysconf("SC_CLK_TCK")

    def _stats(self) -> list[list[str]]:
        """Of each process of its group, what /proc/PID/stat says from the state (field 3) on."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(") ")[2].split()
                except OSError:
                    continue  # it has just ended
                if fields[2] == str(self._process.pid):
                    found.append(fields)
        return found


class Stage:
    """A Nomos on ``folder``. ``store`` is its database, opened by the caller. Use it with ``with``.

    The model service and the practice host run in this process and are there at once; ``web`` and ``worker`` run
    from ``play`` on.
    """

    def __init__(self, store: Store, clock: Clock, settings: Mapping[str, str], folder: Path) -> None:
        self.store = store
        self.clock = clock
        self.home = Path(settings["NOMOS_HOME"])
        self._folder = folder
        self._model = ModelServer(respond)
        self.host = PracticeHost(folder / "practice", ensure_key(self.home / "ssh"), pace=0)
        self._settings = {**settings, "ANTHROPIC_BASE_URL": self._model.url, "ANTHROPIC_API_KEY": "none"}
        self.client = Client(int(settings["NOMOS_BIND"].rpartition(":")[2]), "")
        self._parts: list[Part] = []
        self.long_session = ""

    def __enter__(self) -> Stage:
        # paramiko reports each client that hangs up as an error, and here each one does in the end.
        logging.getLogger("nomos.rehearsal.host.ssh").setLevel(logging.CRITICAL)
        self._model.start()
        self.host.start()
        return self

    def __exit__(self, *_: object) -> None:
        for part in reversed(self._parts):
            part.stop()
        self.host.stop()
        self._model.stop()

    @property
    def web(self) -> Part:
        """The web process."""
        return self._parts[0]

    @property
    def worker(self) -> Part:
        """The worker."""
        return self._parts[1]

    def folder(self, name: str) -> Path:
        """A new folder for a measurement, gone when all is measured."""
        folder = self._folder / name
        folder.mkdir()
        return folder

    def seed(self) -> None:
        """Store the long session, whose id ``long_session`` is from then on. Before ``play``: it holds the store."""
        self.long_session = long_session(self.store, self.clock.now())

    def play(self) -> None:
        """Start web and worker, and wait until both are there.

        :raises NothingCame: one of them ended, or was not there in time.
        """
        target = self.host.target()
        assert target.host_key is not None
        host_actions.place_practice_host(
            self.store, PRACTICE, target.address, target.port, target.user, target.host_key,
            fingerprint(target.host_key), self.clock.now(),
        )  # fmt: skip
        token = user_actions.add_token(self.store, "bench", _SCOPES, self.clock.now())
        self.client = Client(int(self._settings["NOMOS_BIND"].rpartition(":")[2]), token)
        self._parts = [Part(name, self._settings, self._folder) for name in ("web", "worker")]
        self._wait(self._ready)

    def _ready(self) -> bool:
        for part in self._parts:
            part.check()
        try:
            failing = self.client.call("GET", "/readyz")["failing"]
        except OSError:
            return False
        return "worker" not in failing and "database" not in failing

    def _wait(self, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not ready():
            if time.monotonic() > deadline:
                raise NothingCame(f"Web and worker were not there within {PATIENCE:g} s.")
            time.sleep(0.05)
