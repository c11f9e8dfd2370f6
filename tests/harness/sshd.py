"""A real OpenSSH server on a loopback port, for one test: its own keys, home folder and PATH."""

from __future__ import annotations

import contextlib
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from nomos.ssh.base import Target
from nomos.ssh.keys import ensure_key
from tests.harness.wait import wait_for

SSHD = "/usr/sbin/sshd"


def free_port() -> int:
    """A TCP port on loopback that is free now, below the range that outgoing connections take theirs from."""
    for _ in range(200):
        port = random.randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port on loopback")


class Sshd:
    """One server. Everything it needs and everything its sessions write lies under ``folder``.

    ``options`` are further lines of sshd_config; ``path`` is the PATH of its sessions; ``host_key_type`` one of
    ed25519, rsa, ecdsa.
    """

    def __init__(
        self,
        folder: Path,
        *,
        options: tuple[str, ...] = (),
        path: str = "/usr/local/bin:/usr/bin:/bin",
        environment: Mapping[str, str] | None = None,
        host_key_type: str = "ed25519",
    ) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.base = self.home / "jobs"
        self.port = free_port()
        self.user = pwd.getpwuid(os.getuid()).pw_name
        self.key_path = folder / "nomos" / "id_ed25519"
        self.options = list(options)
        self.environment = {"HOME": str(self.home), "PATH": path, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self.home.mkdir(parents=True)
        public = ensure_key(self.key_path.parent)
        (folder / "authorized_keys").write_text(public + "\n")
        self.new_host_key(host_key_type)

    def new_host_key(self, kind: str = "ed25519") -> None:
        """Give the server another host key; takes effect at the next start."""
        for name in ("host_key", "host_key.pub"):
            (self.folder / name).unlink(missing_ok=True)
        subprocess.run(
            ["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", str(self.folder / "host_key")], check=True
        )

    @property
    def host_key(self) -> str:
        """The public host key as ``"<type> <base64>"``."""
        return (self.folder / "host_key.pub").read_text().strip()

    @property
    def pid(self) -> int:
        """The listening process."""
        assert self._process is not None, "the server is not running"
        return self._process.pid

    def target(self, **changes: object) -> Target:
        """How Nomos reaches this server; ``changes`` replace fields."""
        target = Target(
            name="lab",
            address="127.0.0.1",
            port=self.port,
            user=self.user,
            key_path=str(self.key_path),
            host_key=self.host_key,
            job_base=str(self.base),
        )
        return replace(target, **changes)  # type: ignore[arg-type]

    def start(self) -> None:
        """Start it and wait until it listens."""
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        config = self.folder / "sshd_config"
        lines = [
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.folder / 'host_key'}",
            f"AuthorizedKeysFile {self.folder / 'authorized_keys'}",
            f"PidFile {self.folder / 'sshd.pid'}",
            "SetEnv " + " ".join(f'"{name}={value}"' for name, value in self.environment.items()),
            "UsePAM no",
            "StrictModes no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin prohibit-password",
            "PrintMotd no",
            "UseDNS no",
            *self.options,
        ]
        config.write_text("\n".join(lines) + "\n")
        binary = shutil.which("sshd", path=f"/usr/sbin:{os.environ.get('PATH', '')}") or SSHD
        log = str(self.folder / "sshd.log")
        # A test run in the background of a script has INT and QUIT ignored; a real server's sessions have not.
        words = ["env", "--default-signal", binary, "-D", "-f", str(config), "-E", log]
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, start_new_session=True)
        wait_for(self._listens, what=f"sshd on port {self.port} (log: {log})")

    def _listens(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise RuntimeError(f"sshd ended: {(self.folder / 'sshd.log').read_text()}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def connections(self) -> list[int]:
        """The processes that each serve one connection."""
        return [pid for pid, parent in processes() if parent == self.pid]

    def kill_connections(self) -> int:
        """Cut every connection at once, as a crash of the host's sshd sessions would; says how many."""
        found = self.connections()
        for pid in found:
            _kill(pid)
        return len(found)

    def pause(self) -> None:
        """Freeze the server: connections stay, nothing is answered, jobs go on."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it answer again."""
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: signal.Signals) -> None:
        for pid in (self.pid, *self.connections()):
            os.kill(pid, number)

    def stop(self) -> None:
        """Stop listening and cut all connections. Jobs go on."""
        if self._process is None:
            return
        found = self.connections()
        self._process.kill()
        self._process.wait(10)
        for pid in found:
            _kill(pid)
        self._process = None

    def kill_jobs(self) -> None:
        """End what jobs of this server are still running: commands, and all of Nomos's own around them."""
        marks = {f"B={self.base}".encode(), *(f"NOMOS_JOB={job.name}".encode() for job in self.base.glob("*"))}
        for pid, _ in processes():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError, PermissionError):
                if marks & set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")):
                    _kill(pid)


def processes() -> Iterator[tuple[int, int]]:
    """All processes of this machine as (pid, parent's pid); zombies are left out."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if fields[0] not in "ZX":
            yield int(stat.parent.name), int(fields[1])


def command_lines() -> dict[int, str]:
    """The command line of every living process, by pid."""
    found = {}
    for pid, _ in processes():
        try:
            found[pid] = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def running_sshd(folder: Path, **options: object) -> Iterator[Sshd]:
    """A started server, stopped and cleared of its jobs at the end."""
    server = Sshd(folder, **options)  # type: ignore[arg-type]
    server.start()
    try:
        yield server
    finally:
        server.kill_jobs()
        server.stop()
