"""What goes wrong on the way to a host, and that each thing has its own sentence. Real sockets, a real sshd."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import paramiko
import pytest

from nomos.errors import (
    ConnectionLost,
    HostKeyChanged,
    HostKeyUnknown,
    HostRefused,
    HostUnreachable,
    HostUnusable,
)
from nomos.ssh.base import JobState, Limits, Target
from nomos.ssh.connection import Deadlines
from nomos.ssh.keys import ensure_key, fingerprint
from nomos.ssh.paramiko_shell import ParamikoShell
from tests.harness.sshd import Sshd, free_port, running_sshd
from tests.harness.wait import wait_for

SHORT = Deadlines(connect=1, sign_in=5, answer=5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "sshd"


@pytest.fixture
def server(folder: Path) -> Iterator[Sshd]:
    with running_sshd(folder) as found:
        yield found


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[ParamikoShell]:
    ensure_key(tmp_path / "own")
    found = ParamikoShell(tmp_path / "own" / "id_ed25519", SHORT)
    yield found
    found.close()


def nowhere(port: int) -> Target:
    line = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
    return Target(name="lab", address="127.0.0.1", port=port, user="root", host_key=line, job_base="/jobs")


# --- the way there


def test_a_closed_port(shell: ParamikoShell) -> None:
    port = free_port()
    with pytest.raises(HostUnreachable, match=rf"Nothing listens at lab \(127\.0\.0\.1:{port}\)"):
        shell.probe(nowhere(port))


def test_a_port_that_says_nothing(shell: ParamikoShell) -> None:
    with (
        socket.create_server(("127.0.0.1", free_port())) as silent,
        pytest.raises(HostUnreachable, match="said nothing for 1 s"),
    ):
        shell.scan(nowhere(silent.getsockname()[1]))


def test_a_port_that_hangs_up(shell: ParamikoShell) -> None:
    with serving(lambda peer: peer.close()) as port, pytest.raises(HostUnreachable, match="closes them before"):
        shell.scan(nowhere(port))


def test_a_web_server(shell: ParamikoShell) -> None:
    class Web(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

    with HTTPServer(("127.0.0.1", free_port()), Web) as web:
        thread = threading.Thread(target=web.serve_forever)
        thread.start()
        try:
            with pytest.raises(HostUnreachable, match="answers with HTTP"):
                shell.scan(nowhere(web.server_port))
        finally:
            web.shutdown()
            thread.join()


def test_a_name_that_cannot_be_found(shell: ParamikoShell) -> None:
    target = Target(name="lab", address="no-such-host.invalid", port=22, user="root")
    with pytest.raises(HostUnreachable, match="address of lab"):
        shell.scan(target)


@contextmanager
def serving(answer: object) -> Iterator[int]:
    """A TCP server that does one thing to whoever connects."""
    with socket.create_server(("127.0.0.1", free_port())) as listener:

        def serve() -> None:
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                answer(peer)  # type: ignore[operator]

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join(5)


# --- the host's key


def test_a_host_without_a_trusted_key(server: Sshd, shell: ParamikoShell) -> None:
    with pytest.raises(HostKeyUnknown, match="Trust its fingerprint"):
        shell.probe(server.target(host_key=None))


def test_a_changed_key_names_host_port_and_both_fingerprints(server: Sshd, shell: ParamikoShell) -> None:
    target = server.target()
    server.stop()
    server.new_host_key()
    server.start()
    with pytest.raises(HostKeyChanged) as caught:
        shell.probe(target)
    assert target.host_key
    for part in (f"127.0.0.1:{server.port}", fingerprint(target.host_key), fingerprint(server.host_key)):
        assert part in caught.value.detail


def test_a_key_of_another_type_is_a_changed_key(server: Sshd, shell: ParamikoShell) -> None:
    target = server.target()
    server.stop()
    server.new_host_key("ecdsa")
    server.start()
    with pytest.raises(HostKeyChanged, match="ecdsa-sha2-nistp256"):
        shell.probe(target)


@pytest.mark.parametrize("pinned", ["rsa", "ecdsa", "ed25519"])
def test_of_several_host_keys_the_trusted_one_is_asked_for(folder: Path, shell: ParamikoShell, pinned: str) -> None:
    kinds = {"rsa": "ssh-rsa", "ecdsa": "ecdsa-sha2-nistp256", "ed25519": "ssh-ed25519"}
    folder.mkdir()
    keys = {}
    for kind in kinds:
        make_key(folder / f"also_{kind}", kind)
        keys[kind] = " ".join((folder / f"also_{kind}.pub").read_text().split()[:2])
    with running_sshd(folder / "s", options=tuple(f"HostKey {folder}/also_{kind}" for kind in kinds)) as several:
        # the server's own ed25519 key comes first in its configuration and is the one of that type it uses
        line = several.host_key if pinned == "ed25519" else keys[pinned]
        assert line.startswith(kinds[pinned])
        assert shell.probe(several.target(host_key=line)).boot


def make_key(path: Path, kind: str) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", "", "-f", str(path)], check=True)


def test_a_server_with_only_an_old_host_key(folder: Path, shell: ParamikoShell) -> None:
    with (
        running_sshd(folder, host_key_type="rsa", options=("HostKeyAlgorithms ssh-rsa",)) as old,
        pytest.raises(HostRefused, match=r"no longer safe.*ssh-keygen -A"),
    ):
        shell.scan(old.target())


# --- signing in


def test_a_refused_key_says_which_line_is_missing(server: Sshd, shell: ParamikoShell, tmp_path: Path) -> None:
    public = ensure_key(tmp_path / "own")
    with pytest.raises(HostRefused) as caught:
        shell.probe(server.target(key_path=None))
    assert public in caught.value.detail
    assert fingerprint(public) in caught.value.detail
    assert server.user in caught.value.detail


def test_nomos_own_key_is_used_where_none_is_named(server: Sshd) -> None:
    own = ParamikoShell(server.key_path, SHORT)
    assert own.probe(server.target(key_path=None)).boot
    own.close()


def test_a_host_that_takes_no_keys(folder: Path, shell: ParamikoShell) -> None:
    options = ("PubkeyAuthentication no", "KbdInteractiveAuthentication yes")
    with running_sshd(folder, options=options) as closed, pytest.raises(HostRefused):
        shell.probe(closed.target())


def encrypted_key(path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", str(path)], check=True)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda path: None, "does not exist"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.write_text("not a key\n"), "holds no private key"),
        (lambda path: path.write_text(""), "holds no private key"),
        (encrypted_key, "is encrypted"),
    ],
    ids=["missing", "folder", "garbage", "empty", "encrypted"],
)
def test_key_files_that_cannot_be_used(
    server: Sshd, shell: ParamikoShell, tmp_path: Path, make: object, sentence: str
) -> None:
    path = tmp_path / "key"
    make(path)  # type: ignore[operator]
    with pytest.raises(HostRefused, match=sentence) as caught:
        shell.probe(server.target(key_path=str(path)))
    assert str(path) in caught.value.detail


def test_own_key_is_made_once_with_its_rights(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        lines = set(threads.map(ensure_key, [tmp_path / "keys"] * 8))
    assert len(lines) == 1
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "keys" / "id_ed25519").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in (tmp_path / "keys").iterdir()) == ["id_ed25519", "id_ed25519.pub"]


def test_failed_sign_ins_leave_nothing_open(server: Sshd, shell: ParamikoShell) -> None:
    def fail() -> None:
        with pytest.raises(HostRefused):
            shell.probe(server.target(key_path=None))

    fail()
    before = open_things()
    for _ in range(10):
        fail()
    wait_for(lambda: open_things() <= before, what="threads and descriptors to go")


def open_things() -> tuple[int, int]:
    return threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))


# --- what the host allows


def test_a_host_that_allows_two_sessions_a_connection_gets_more_connections(folder: Path) -> None:
    with running_sshd(folder, options=("MaxSessions 2",)) as narrow:
        shell = ParamikoShell(narrow.key_path)
        jobs = [uuid.uuid4().hex for _ in range(6)]
        with ThreadPoolExecutor(6) as threads:
            started = threads.map(lambda job: shell.start(narrow.target(), job, "exit 4", Limits()), jobs)
            assert all(status.state in {JobState.RUNNING, JobState.EXITED} for status in started)
            ended = threads.map(lambda job: shell.follow(narrow.target(), job, 0, ignore, never), jobs)
            assert [status.exit_code for status in ended] == [4] * 6
        shell.close()


def test_a_host_that_allows_no_session_is_unusable(folder: Path) -> None:
    with running_sshd(folder, options=("MaxSessions 0",)) as closed:
        shell = ParamikoShell(closed.key_path, Deadlines(answer=1))
        with pytest.raises(HostUnusable, match="allows no session"):
            shell.probe(closed.target())
        shell.close()


def test_many_followers_leave_room_for_a_start(server: Sshd) -> None:
    shell = ParamikoShell(server.key_path)
    begun: list[str] = []
    done = threading.Event()

    def follow(number: int) -> JobState:
        job_id = f"many-{number}"
        shell.start(server.target(), job_id, "echo begun; sleep 300", Limits())
        return shell.follow(server.target(), job_id, 0, lambda chunk: begun.append(job_id), done.is_set).state

    with ThreadPoolExecutor(12) as threads:
        followers = [threads.submit(follow, number) for number in range(12)]
        try:
            wait_for(lambda: len(begun) == 12, timeout=30, what="twelve followers")
            assert shell.start(server.target(), "one-more", "exit 0", Limits()).state is JobState.RUNNING
            assert len(server.connections()) >= 2
        finally:
            done.set()
        assert {call.result() for call in followers} == {JobState.RUNNING}
    shell.close()


def test_an_account_without_a_shell_is_unusable(folder: Path) -> None:
    with running_sshd(folder, options=("ForceCommand echo This account is not available.; exit 1",)) as closed:
        shell = ParamikoShell(closed.key_path)
        with pytest.raises(HostUnusable, match="This account is not available"):
            shell.probe(closed.target())
        shell.close()


# --- what happens on the way


def test_a_restarted_server_is_connected_to_again(server: Sshd) -> None:
    shell = ParamikoShell(server.key_path)
    shell.start(server.target(), "before", "sleep 300", Limits())
    server.stop()
    server.start()
    assert shell.status(server.target(), "before").state is JobState.RUNNING
    shell.close()


def test_a_connection_that_hangs_is_replaced(server: Sshd) -> None:
    shell = ParamikoShell(server.key_path, Deadlines(answer=1))
    shell.start(server.target(), "stopped", "sleep 300", Limits())
    connections = server.connections()
    for pid in connections:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert shell.status(server.target(), "stopped").state is JobState.RUNNING
    finally:
        for pid in connections:
            os.kill(pid, signal.SIGCONT)
    shell.close()


def test_stop_works_while_the_kept_connection_hangs(server: Sshd) -> None:
    shell = ParamikoShell(server.key_path)
    shell.start(server.target(), "hang", "sleep 300", Limits())
    connections = server.connections()
    for pid in connections:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert shell.cancel(server.target(), "hang").state in {JobState.RUNNING, JobState.EXITED}
        fresh = ParamikoShell(server.key_path)
        assert fresh.follow(server.target(), "hang", 0, ignore, never).exit_code == 143
        fresh.close()
    finally:
        for pid in connections:
            os.kill(pid, signal.SIGCONT)
    shell.close()


def test_close_hangs_up_and_jobs_go_on(server: Sshd) -> None:
    shell = ParamikoShell(server.key_path)
    shell.start(server.target(), "goes-on", "sleep 1; echo went on; exit 8", Limits())
    shell.close()
    wait_for(lambda: not server.connections(), what="the connection to end")
    output: list[bytes] = []
    assert shell.follow(server.target(), "goes-on", 0, output.append, never).exit_code == 8
    assert output == [b"went on\n"]
    shell.close()


def test_an_answer_that_was_lost_is_asked_for_again_and_runs_once(server: Sshd) -> None:
    """Cut the connection at many moments of a start; the same call again never runs the command a second time."""
    shell = ParamikoShell(server.key_path)
    target = server.target()
    lost = 0
    for number in range(12):
        job_id = f"lost-{number}"
        shell.status(target, "none")
        cutter = threading.Timer(0.002 * number, server.kill_connections)
        cutter.start()
        for _ in range(5):
            try:
                shell.start(target, job_id, f"echo x >>count-{number}", Limits())
                break
            except (ConnectionLost, HostUnreachable):
                lost += 1
        cutter.join()
        assert follow_to_end(shell, target, job_id) == 0
        assert (server.home / f"count-{number}").read_text() == "x\n"
    assert lost > 0
    shell.close()


def follow_to_end(shell: ParamikoShell, target: Target, job_id: str) -> int | None:
    for _ in range(5):
        try:
            return shell.follow(target, job_id, 0, ignore, never).exit_code
        except (ConnectionLost, HostUnreachable):
            continue
    raise AssertionError("the connection was lost five times")


def test_the_library_is_quiet_when_a_connection_breaks(server: Sshd, capfd: pytest.CaptureFixture[str]) -> None:
    shell = ParamikoShell(server.key_path, SHORT)
    shell.status(server.target(), "none")
    server.kill_connections()
    wait_for(lambda: not server.connections(), what="the connection to end")
    shell.status(server.target(), "none")
    shell.close()
    assert capfd.readouterr() == ("", "")
    assert paramiko.__version__.split(".")[0] == "5"


def ignore(chunk: bytes) -> None:
    """Take output and do nothing with it."""


def never() -> bool:
    return False
