"""An OpenSSH server on loopback for measurements, as the hosts at home run it."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from nomos.rehearsal.bench.client import PATIENCE, NothingCame
from nomos.rehearsal.bench.stage import free_port
from nomos.ssh.base import Target
from nomos.ssh.keys import KEY_NAME, ensure_key

_PROGRAMS = ("sshd", "ssh")


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")


def is_installed() -> bool:
    """Whether this machine has OpenSSH's server and client."""
    return all(_program(name) for name in _PROGRAMS)


class OpenSsh:
    """A server that only this measurement may sign in to, with all it keeps in ``folder``. Use it with ``with``."""

    def __init__(self, folder: Path) -> None:
        self.key_path = folder / "client" / KEY_NAME
        self._folder = folder
        self._port = free_port()
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        client, host = ensure_key(self.key_path.parent), ensure_key(self._folder / "host")
        self._host_key = " ".join(host.split()[:2])
        (self._folder / "authorized_keys").write_text(client + "\n")
        (self._folder / "known_hosts").write_text(f"[127.0.0.1]:{self._port} {self._host_key}\n")
        config = self._folder / "sshd_config"
        config.write_text(
            f"Port {self._port}\nListenAddress 127.0.0.1\nHostKey {self._folder / 'host' / KEY_NAME}\n"
            f"AuthorizedKeysFile {self._folder / 'authorized_keys'}\nPidFile none\nUsePAM no\nStrictModes no\n"
            f'SetEnv "HOME={self._folder}"\n'  # the user's own login scripts are no part of the measurement
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\n"
        )
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)  # the server refuses to start without
        self._server = subprocess.Popen(
            [_program("sshd") or "sshd", "-D", "-f", str(config), "-E", str(self._folder / "log")],
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while not self._listens():
            if self._server.poll() is not None or time.monotonic() > deadline:
                raise NothingCame("OpenSSH's server did not start: " + (self._folder / "log").read_text()[-300:])
            time.sleep(0.02)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.wait(15)

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    @property
    def pid(self) -> int:
        """The process that listens."""
        assert self._server is not None
        return self._server.pid

    def target(self) -> Target:
        """How Nomos reaches it."""
        return Target(
            "bench", "127.0.0.1", self._port, getpass.getuser(), host_key=self._host_key,
            job_base=str(self._folder / "jobs"),
        )  # fmt: skip

    def command_line(self, command: str) -> Sequence[str]:
        """What runs ``command`` there by OpenSSH's own client."""
        options = [f"UserKnownHostsFile={self._folder / 'known_hosts'}", f"IdentityFile={self.key_path}"]
        options += ["IdentitiesOnly=yes", "BatchMode=yes"]
        flags = [word for option in options for word in ("-o", option)]
        return [_program("ssh") or "ssh", "-F", "none", *flags, "-p", str(self._port), "127.0.0.1", command]
