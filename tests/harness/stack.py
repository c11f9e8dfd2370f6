"""A whole Nomos for tests: the web process and the worker, started as an operator starts them, on their own folder.

with Stack(tmp_path, model_url=server.url) as nomos:
    session = nomos.api.post("/sessions", {}).json
    nomos.api.say(session["id"], "hello")
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nomos.actions.users import add_token
from nomos.bootstrap.core import open_core
from nomos.config import Settings
from tests.harness.api import Api
from tests.harness.sshd import Sshd, free_port
from tests.harness.wait import wait_for

ROOT = Path(__file__).parents[2]
ALL_SCOPES = "read,events,chat,decide,admin"


class Process:
    """One process of Nomos. ``log`` is what it wrote."""

    def __init__(self, part: str, environment: Mapping[str, str], log: Path) -> None:
        self.part = part
        self.log = log
        with log.open("ab") as out:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "nomos", part], cwd=ROOT, env=dict(environment), stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        """Its pid; also that of its process group."""
        return self._popen.pid

    @property
    def returncode(self) -> int | None:
        """How it ended, None while it runs."""
        return self._popen.poll()

    def kill(self) -> None:
        """Kill it and its children at once, as a crash does."""
        self._signal(signal.SIGKILL)
        self._popen.wait()

    def stop(self) -> None:
        """End it in order."""
        self._signal(signal.SIGTERM)
        try:
            self._popen.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()

    def pause(self) -> None:
        """Freeze it."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            return


class Stack:
    """Web and worker over one data folder. ``model_url`` None: the rehearsal's model and practice host.

    ``settings`` are further environment variables. ``api`` is signed in with a token that may do everything.
    """

    def __init__(self, folder: Path, *, model_url: str | None = None, **settings: str) -> None:
        self.folder = folder
        self.home = folder / "nomos"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "NOMOS_HOME": str(self.home),
            "NOMOS_BIND": f"127.0.0.1:{self.port}",
            "NOMOS_REHEARSAL_SPEED": "0",
            "NOMOS_PRACTICE_PACE": "0",
            "NOMOS_RETRY_SECONDS": "0.05",
            "PYTHONWARNINGS": "default",
            **settings,
        }
        if model_url is not None:
            self.environment |= {"ANTHROPIC_BASE_URL": model_url, "ANTHROPIC_API_KEY": "sk-test"}
        self.web: Process | None = None
        self.worker: Process | None = None
        self.api = Api(self.url, "")

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self.start_web()
            self.api = Api(self.url, self.new_token(ALL_SCOPES))
            self.start_worker()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End both processes."""
        for process in (self.worker, self.web):
            if process is not None and process.returncode is None:
                process.stop()

    def start_web(self) -> None:
        """Start the web process and wait until it answers."""
        process = self.web = Process("web", self.environment, self.folder / "web.log")
        wait_for(lambda: self._up(process), 90, f"the web process (log: {process.log})")

    def _up(self, process: Process) -> bool:
        assert process.returncode is None, f"the web process ended: {process.log.read_text()}"
        return Api(self.url, "").alive()

    def start_worker(self) -> None:
        """Start a worker and wait until it has given a sign of life."""
        process = self.worker = Process("worker", self.environment, self.folder / "worker.log")

        def up() -> bool:
            assert process.returncode is None, f"the worker ended: {process.log.read_text()}"
            return "is up" in process.log.read_text()

        wait_for(up, 90, f"the worker (log: {process.log})")

    def cli(self, *words: str, input_: str | None = None, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command of ``nomos`` over the same data folder."""
        done = subprocess.run(
            [sys.executable, "-m", "nomos", *words], cwd=ROOT, env=self.environment, input=input_, text=True,
            capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert not check or done.returncode == 0, f"nomos {' '.join(words)}: {done.stdout}{done.stderr}"
        return done

    def new_token(self, scopes: str, name: str = "tests") -> str:
        """Make a token, as ``nomos token add`` does, without the seconds that a process takes to start."""
        core = open_core(Settings.from_env(self.environment))
        try:
            return add_token(core.store, name, frozenset(scopes.split(",")), core.clock.now())
        finally:
            core.store.close()

    def add_user(self, name: str = "ada", password: str = "a long enough password") -> None:
        """Make an operator who can sign in at the page."""
        self.cli("user", "add", name, "--password-file", "-", input_=password)

    def add_host(self, name: str, target: Any) -> None:
        """Put a host (a ``Target`` of ``tests.harness.sshd``) into the inventory, trusted, with the key it names."""
        address = f"{target.user}@{target.address}:{target.port}"
        self.cli("host", "add", name, address, "--key", str(target.key_path))
        found = next(host for host in self.api.get("/hosts").json["hosts"] if host["name"] == name)
        self.cli("host", "trust", name, "--fingerprint", found["offered_fingerprint"])

    def trust_host(self, name: str, target: Any) -> Any:
        """The same over HTTP, as the page of hosts does, signing in with Nomos's own key. Returns the host."""
        address = f"{target.user}@{target.address}:{target.port}"
        made = self.api.post("/hosts", {"name": name, "address": address}).json
        offered = self.until_host(made["id"], lambda host: host["offered_fingerprint"])["offered_fingerprint"]
        assert self.api.post(f"/hosts/{made['id']}/trust", {"fingerprint": offered}).status == 200
        return self.until_host(made["id"], lambda host: host["state"] == "reachable")

    def until_host(self, host_id: str, condition: Callable[[Any], object]) -> Any:
        """Wait until a host of the inventory fits, and return it."""
        last: list[Any] = [None]

        def look() -> bool:
            last[0] = self.api.get(f"/hosts/{host_id}").json
            return bool(condition(last[0]))

        try:
            wait_for(look, 90, "the host")
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {last[0]}") from None
        return last[0]

    def authorize(self, sshd: Sshd) -> None:
        """Let Nomos's own key sign in to a server."""
        with (sshd.folder / "authorized_keys").open("a") as file:
            file.write((self.home / "ssh" / "id_ed25519.pub").read_text())
