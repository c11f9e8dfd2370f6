"""Nomos's shell against dropbear, the SSH server of small systems, on a host whose programs are busybox's."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomos.errors import ConnectionLost
from nomos.ssh.base import JobState, Limits, Target
from nomos.ssh.keys import ensure_key
from nomos.ssh.paramiko_shell import ParamikoShell
from tests.harness.sshd import command_lines, free_port, processes
from tests.harness.wait import wait_for

# It knows the keys of a user's home alone, so it gets a home of its own to see; and busybox where sh is.
BEGIN = 'mount --bind "$1" "$2" && mount --bind "$3" "$4" && shift 4 && exec "$@"'


class Dropbear:
    """One server in a mount namespace of its own. ``home`` is what its sessions see as the user's home."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.port = free_port()
        self.key_path = folder / "nomos" / "id_ed25519"
        self._user = pwd.getpwuid(os.getuid())
        self._log = folder / "log"
        (self.home / ".ssh").mkdir(parents=True, mode=0o700)
        keys = self.home / ".ssh" / "authorized_keys"
        keys.write_text(ensure_key(self.key_path.parent) + "\n")
        keys.chmod(0o600)
        host_key = folder / "host_key"
        made = subprocess.run(
            [program("dropbearkey"), "-t", "ed25519", "-f", host_key], capture_output=True, text=True, check=True
        )
        self.host_key = " ".join(next(line for line in made.stdout.splitlines() if "ssh-ed25519" in line).split()[:2])
        privilege = [] if os.getuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
        mounts = [str(self.home), self._user.pw_dir, program("busybox"), str(Path("/bin/sh").resolve())]
        server = [program("dropbear"), "-F", "-E", "-s", "-r", str(host_key), "-P", str(folder / "pid")]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                ["unshare", *privilege, "--mount", "sh", "-c", BEGIN, "sh", *mounts, *server, "-p",
                 f"127.0.0.1:{self.port}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        wait_for(self._listens, what="dropbear")

    def _listens(self) -> bool:
        assert self.process.poll() is None, self._log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def target(self) -> Target:
        base = f"{self._user.pw_dir}/jobs"
        return Target("small", "127.0.0.1", self.port, self._user.pw_name, host_key=self.host_key, job_base=base)

    def kill_connections(self) -> None:
        for pid in [pid for pid, parent in processes() if parent == self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        self.kill_connections()
        self.process.kill()
        self.process.wait(10)


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    assert found, f"{name} is not installed"
    return found


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dropbear]:
    found = Dropbear(tmp_path_factory.mktemp("dropbear"))
    yield found
    found.stop()


@pytest.fixture
def shell(server: Dropbear) -> Iterator[ParamikoShell]:
    found = ParamikoShell(server.key_path)
    yield found
    found.close()


def new_id() -> str:
    return str(uuid.uuid4())


def test_the_host_is_found_and_keeps_jobs(server: Dropbear, shell: ParamikoShell) -> None:
    target = server.target()
    assert shell.scan(target).line == target.host_key
    assert shell.probe(target).job_base == target.job_base
    job_id, chunks = new_id(), list[bytes]()
    assert shell.start(target, job_id, "echo one; echo two >&2; exit 3", Limits()).state is JobState.RUNNING
    status = shell.follow(target, job_id, 0, chunks.append, lambda: False)
    assert (b"".join(chunks), status.state, status.exit_code) == (b"one\ntwo\n", JobState.EXITED, 3)
    assert shell.start(target, job_id, "echo again", Limits()).exit_code == 3


def test_a_cut_in_the_middle_loses_nothing(server: Dropbear, shell: ParamikoShell) -> None:
    target, job_id, received = server.target(), new_id(), bytearray()
    shell.start(target, job_id, "for i in 1 2 3; do seq $((i*10000)) $((i*10000+9999)); sleep 0.5; done", Limits())

    def take(chunk: bytes) -> None:
        if not received:
            server.kill_connections()
        received.extend(chunk)

    with pytest.raises(ConnectionLost):
        shell.follow(target, job_id, 0, take, lambda: False)
    status = shell.follow(target, job_id, len(received), take, lambda: False)
    assert bytes(received) == "".join(f"{i}\n" for i in range(10000, 40000)).encode()
    assert (status.state, status.exit_code) == (JobState.EXITED, 0)


def test_cancel_ends_the_job_and_leaves_no_process(server: Dropbear, shell: ParamikoShell) -> None:
    target, job_id, received = server.target(), new_id(), bytearray()
    shell.start(target, job_id, "echo begun; sleep 300 & sleep 301", Limits())
    shell.follow(target, job_id, 0, received.extend, lambda: bool(received))
    shell.cancel(target, job_id)
    assert shell.follow(target, job_id, len(received), received.extend, lambda: False).exit_code == 143
    wait_for(lambda: not [line for line in command_lines().values() if job_id in line], what="its processes to end")


def test_a_line_of_input_reaches_the_command(server: Dropbear, shell: ParamikoShell) -> None:
    target, job_id, received = server.target(), new_id(), bytearray()
    shell.start(target, job_id, 'read -r answer; echo "got $answer"', Limits(stdin=True))
    assert shell.input(target, job_id, "yes").taken
    assert shell.follow(target, job_id, 0, received.extend, lambda: False).exit_code == 0
    assert bytes(received) == b"got yes\n"
