"""The practice host over real SSH: what it refuses, how it serves, and Nomos's own shell on it."""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest

from nomos.errors import ConnectionLost, HostRefused
from nomos.rehearsal.host.server import PracticeHost
from nomos.ssh.base import JobState, JobStatus, Limits
from nomos.ssh.keys import KEY_NAME, ensure_key, load_key
from nomos.ssh.paramiko_shell import ParamikoShell
from nomos.ssh.request import Request, quote, script
from tests.harness.practice import RunningPractice, processes_of
from tests.harness.wait import wait_for

CREATE = "pct create 105 local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst --hostname web --rootfs local-lvm:4"
LIMITS = Limits(timeout=60)


@pytest.fixture
def practice(tmp_path: Path) -> Iterator[RunningPractice]:
    with RunningPractice(tmp_path) as running:
        yield running


@pytest.fixture
def unhurried(tmp_path: Path) -> Iterator[RunningPractice]:
    """A practice host at lifelike pace, for what has to be caught at work."""
    with RunningPractice(tmp_path, pace=1.0) as running:
        yield running


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[RunningPractice]:
    with RunningPractice(tmp_path, pace=0.3) as running:
        yield running


@contextlib.contextmanager
def signed_in(practice: RunningPractice) -> Iterator[paramiko.Transport]:
    transport = paramiko.Transport(("127.0.0.1", practice.host.port))
    try:
        transport.start_client(timeout=10)
        transport.auth_publickey("root", load_key(practice.key_path))
        yield transport
    finally:
        transport.close()


@contextlib.contextmanager
def shell_on(practice: RunningPractice) -> Iterator[ParamikoShell]:
    shell = ParamikoShell(practice.key_path)
    try:
        yield shell
    finally:
        shell.close()


def asked(transport: paramiko.Transport, text: str, data: bytes = b"") -> tuple[int, str, str]:
    """Send an exec request and its input: exit status, standard output, standard error."""
    channel = transport.open_session(timeout=10)
    channel.settimeout(20)
    with channel:
        channel.exec_command(text)
        with contextlib.suppress(OSError):  # a refusal may close the channel before it has taken everything
            channel.sendall(data)
            channel.shutdown_write()
        out = b"".join(iter(lambda: channel.recv(65536), b""))
        err = b"".join(iter(lambda: channel.recv_stderr(65536), b""))
        assert channel.status_event.wait(10)
        return channel.recv_exit_status(), out.decode(), err.decode()


def finished(shell: ParamikoShell, practice: RunningPractice, command: str) -> tuple[JobStatus, str]:
    """Run one command as a job to its end: how it ended, and all that it printed."""
    job, pieces = str(uuid.uuid4()), list[bytes]()
    target = practice.host.target()
    shell.start(target, job, command, LIMITS)
    status = shell.follow(target, job, 0, pieces.append, lambda: False)
    return status, b"".join(pieces).decode()


# --- the door ---------------------------------------------------------------------------------------------------------


def test_only_one_key_and_one_user_may_come_in(practice: RunningPractice, tmp_path: Path) -> None:
    ensure_key(tmp_path / "other")
    tries = [("root", load_key(tmp_path / "other" / KEY_NAME)), ("admin", load_key(practice.key_path))]
    for user, key in tries:
        transport = paramiko.Transport(("127.0.0.1", practice.host.port))
        transport.start_client(timeout=10)
        with pytest.raises(paramiko.AuthenticationException):
            transport.auth_publickey(user, key)
        with pytest.raises(paramiko.BadAuthenticationType) as no_password:
            transport.auth_password(user, "secret")
        assert no_password.value.allowed_types == ["publickey"]
        transport.close()


def test_no_terminal_files_or_forwarding(practice: RunningPractice) -> None:
    with signed_in(practice) as transport:
        with pytest.raises(paramiko.SSHException):
            transport.open_session(timeout=10).get_pty()
        with pytest.raises(paramiko.SSHException):
            transport.open_session(timeout=10).invoke_subsystem("sftp")
        with pytest.raises(paramiko.ChannelException) as refused:
            transport.open_channel("direct-tcpip", ("127.0.0.1", practice.host.port), ("127.0.0.1", 1), timeout=10)
        assert refused.value.code == paramiko.common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED
        with pytest.raises(paramiko.SSHException):
            transport.request_port_forward("127.0.0.1", 0)
        assert transport.is_active()


def test_a_shell_gets_a_sentence(practice: RunningPractice) -> None:
    with signed_in(practice) as transport, transport.open_session(timeout=10) as channel:
        channel.settimeout(10)
        channel.invoke_shell()
        assert channel.recv_stderr(1000).startswith(b"The practice host serves only Nomos's own job requests.")
        assert channel.recv_exit_status() == 126


def altered(request: Request) -> bytes:
    return request.wire().replace(b'eval "$S"', b'eval "id; $S"')


def other_script(request: Request) -> bytes:
    return request.wire().replace(quote(script()).encode(), quote("id").encode())


PROBE = Request(("probe",), "mark")


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("uname -a", b""),
        ("sh -c id", b""),
        ("exec sh -s -- probe; id", PROBE.wire()),
        (PROBE.exec_text(), b"id\n"),
        (PROBE.exec_text(), b""),
        (PROBE.exec_text(), PROBE.wire()[:-5]),
        (PROBE.exec_text(), altered(PROBE)),
        (PROBE.exec_text(), other_script(PROBE)),
        (PROBE.exec_text(), b"M='" + b"x" * 1_500_000),
        ("exec sh -s -- supervise job 1 1 1", Request(("supervise", "job", "1", "1", "1"), "mark").wire()),
        ("exec sh -s -- status ..", Request(("status", ".."), "mark").wire()),
        ("exec sh -s -- start job 1 1 x", Request(("start", "job", "1", "1", "x"), "mark").wire()),
        ("exec sh -s -- cancel job HUP", Request(("cancel", "job", "HUP"), "mark").wire()),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else f"{len(value)} bytes",
)
def test_what_is_not_exactly_a_job_request_is_refused_with_a_sentence(
    practice: RunningPractice, text: str, data: bytes
) -> None:
    with signed_in(practice) as transport:
        code, out, err = asked(transport, text, data)
        assert (code, out) == (126, "")
        assert err.startswith("The practice host ")
        assert asked(transport, PROBE.exec_text(), PROBE.wire())[0] == 0


def test_the_interpreter_and_the_folder_of_a_request_do_not_count(practice: RunningPractice, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    words = ("start", "job1", "1000", "10", "1")
    command = f"touch {tmp_path}/escaped"
    request = Request(words, "mark", base=str(elsewhere), interpreter="/bin/sh", command=command)
    with signed_in(practice) as transport:
        asked(transport, request.exec_text(), request.wire())
    with shell_on(practice) as shell:
        status = wait_for(lambda: ended(shell, practice, "job1"), what="the end of the job")
    assert status is not None
    assert status.exit_code == 127
    assert not elsewhere.exists()
    assert not (tmp_path / "escaped").exists()


def ended(shell: ParamikoShell, practice: RunningPractice, job: str) -> JobStatus | None:
    status = shell.status(practice.host.target(), job)
    return status if status.state is JobState.EXITED else None


# --- serving ----------------------------------------------------------------------------------------------------------


def test_eight_channels_of_one_connection_work_at_once(practice: RunningPractice) -> None:
    answers: dict[int, tuple[int, str, str]] = {}
    with signed_in(practice) as transport:

        def ask(number: int) -> None:
            request = Request(("probe",), f"mark{number}")
            answers[number] = asked(transport, request.exec_text(), request.wire())

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert sorted(answers) == list(range(8))
    for number, (code, out, _) in answers.items():
        assert code == 0
        assert out.startswith(f"NOMOS1 mark{number} boot=")


def test_more_output_than_any_window_arrives_whole(practice: RunningPractice) -> None:
    with shell_on(practice) as shell:
        status, out = finished(shell, practice, "; ".join(["seq 99999"] * 8))
    assert status.exit_code == 0
    assert out == "".join(f"{n}\n" for n in range(1, 100_000)) * 8
    assert status.size == len(out) > 4_000_000


def followers(practice: RunningPractice) -> list[bytes]:
    """The command lines of what serves ``follow … 600``: the script itself, its helpers, and what they run."""
    lines = []
    for pid in processes_of(practice.folder):
        with contextlib.suppress(OSError):
            lines.append(Path(f"/proc/{pid}/cmdline").read_bytes())
    return [line for line in lines if b"follow" in line or b"tail" in line or b"sleep\x00600" in line]


def test_the_client_s_leaving_ends_what_follows_but_not_the_job(practice: RunningPractice) -> None:
    target = practice.host.target()
    with shell_on(practice) as shell:
        shell.start(target, "job1", "sleep 60", LIMITS)
        follow = Request(("follow", "job1", "0", "600"), "mark")
        with signed_in(practice) as transport:
            channel = transport.open_session(timeout=10)
            channel.exec_command(follow.exec_text())
            channel.sendall(follow.wire())
            channel.settimeout(20)
            said = b""
            while b"NOMOS1 mark begin" not in said:  # its two lines may come one by one
                piece = channel.recv(1000)
                assert piece, said
                said += piece
            wait_for(lambda: any(b"sleep" in line for line in followers(practice)), what="the last of the helpers")
        wait_for(lambda: not followers(practice), what="the end of what follows")
        assert shell.status(target, "job1").state is JobState.RUNNING


def test_started_again_it_is_the_same_host_and_its_jobs_went_on(practice: RunningPractice) -> None:
    target = practice.host.target()
    with shell_on(practice) as shell:
        assert finished(shell, practice, "pct start 103")[0].exit_code == 0
        shell.start(target, "job1", "sleep 60", LIMITS)
        practice.host.stop()
        practice.host.start()
        assert practice.host.target() == target
        status = wait_for(lambda: still(shell, practice, "job1"), what="a new connection")
        assert status is not None
        assert status.state is JobState.RUNNING
        assert finished(shell, practice, "pct status 103")[1] == "status: running\n"


def test_a_port_that_was_taken_meanwhile_is_given_up_unless_it_was_asked_for(practice: RunningPractice) -> None:
    taken = practice.host.port
    practice.host.stop()
    with socket.create_server(("127.0.0.1", taken)):
        practice.host.start()
        assert practice.host.port != taken
        asking = PracticeHost(practice.folder, "ssh-ed25519 AAAA", port=taken)
        with pytest.raises(OSError, match="in use"):
            asking.start()
    assert practice.host.port < 32_768


def still(shell: ParamikoShell, practice: RunningPractice, job: str) -> JobStatus | None:
    with contextlib.suppress(ConnectionLost):
        return shell.status(practice.host.target(), job)
    return None


def test_stopping_leaves_no_thread_and_no_connection(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with RunningPractice(tmp_path) as practice, signed_in(practice) as transport:
        asked(transport, PROBE.exec_text(), PROBE.wire())
        idle = transport.open_session(timeout=10)
        practice.host.stop()
        wait_for(lambda: not transport.is_active(), what="the end of the connection")
        idle.close()
    wait_for(lambda: not set(threading.enumerate()) - before, what="the end of its threads")


# --- Nomos's own shell on it ------------------------------------------------------------------------------------------


def test_a_container_s_story_by_nomos_s_own_shell(practice: RunningPractice) -> None:
    with shell_on(practice) as shell:
        target = practice.host.target()
        assert shell.scan(target).line == target.host_key
        assert shell.probe(target).job_base == target.job_base
        story = [
            (CREATE, 0, "Detected container architecture: amd64\n"),
            ("pct start 105", 0, ""),
            ("pct exec 105 -- hostname", 0, "web\n"),
            ("pct exec 105 -- sh -c 'exit 7'", 7, ""),
            ("pct destroy 105", 255, "unable to destroy CT 105 - container is running\n"),
            ("pct stop 105", 0, ""),
            ("pct destroy 105", 0, '  Logical volume "vm-105-disk-0" successfully removed.\n'),
        ]
        for command, code, part in story:
            status, out = finished(shell, practice, command)
            assert status.state is JobState.EXITED
            assert status.exit_code == code
            assert part in out
    ran = [(" ".join(call.words), call.exit_code) for call in practice.host.calls()]
    assert ran == [(command.removeprefix("pct ").replace("'", ""), code) for command, code, _ in story]


def test_an_upgrade_waits_for_an_answer_and_goes_on_by_it(practice: RunningPractice) -> None:
    target, pieces = practice.host.target(), list[bytes]()
    with shell_on(practice) as shell:
        shell.start(target, "asks", "pct exec 101 -- apt-get dist-upgrade", Limits(timeout=60, stdin=True))
        asked_it = threading.Event()

        def take(piece: bytes) -> None:
            pieces.append(piece)
            if b"".join(pieces).endswith(b"Do you want to continue? [Y/n] "):
                asked_it.set()

        status = shell.follow(target, "asks", 0, take, asked_it.is_set)
        assert (asked_it.is_set(), status.state) == (True, JobState.RUNNING)
        assert shell.input(target, "asks", "Y").taken
        status = shell.follow(target, "asks", len(b"".join(pieces)), pieces.append, lambda: False)
    assert status.exit_code == 0
    assert b"Setting up libc6" in b"".join(pieces)


def test_nothing_but_the_practice_shell_meets_the_command(practice: RunningPractice) -> None:
    with shell_on(practice) as shell:
        status, out = finished(shell, practice, "touch /tmp/x; echo done")
    assert status.exit_code == 0
    assert out.startswith("sh: 1: touch: not found\nthe practice host knows only: ")
    assert out.endswith("\ndone\n")


def test_another_key_is_refused(practice: RunningPractice, tmp_path: Path) -> None:
    ensure_key(tmp_path / "other")
    shell = ParamikoShell(tmp_path / "other" / KEY_NAME)
    try:
        with pytest.raises(HostRefused):
            shell.probe(practice.host.target())
    finally:
        shell.close()


def test_output_comes_in_pieces_while_the_job_runs(unhurried: RunningPractice) -> None:
    target, pieces = unhurried.host.target(), list[bytes]()
    with shell_on(unhurried) as shell:
        shell.start(target, "job1", CREATE, LIMITS)
        shell.follow(target, "job1", 0, pieces.append, lambda: b"extracting" in b"".join(pieces))
        assert shell.status(target, "job1").state is JobState.RUNNING
    assert len(pieces) > 1


def test_a_cancelled_create_leaves_nothing(unhurried: RunningPractice) -> None:
    target, pieces = unhurried.host.target(), list[bytes]()
    with shell_on(unhurried) as shell:
        shell.start(target, "job1", CREATE, LIMITS)
        shell.follow(target, "job1", 0, pieces.append, lambda: len(pieces) > 0)
        shell.cancel(target, "job1")
        status = shell.follow(target, "job1", 0, pieces.append, lambda: False)
        assert (status.state, status.exit_code) == (JobState.EXITED, 255)
        assert pieces[-1].endswith(b"received interrupt\n")
        assert finished(shell, unhurried, "pct status 105")[0].exit_code == 2


def test_a_killed_create_leaves_its_lock(unhurried: RunningPractice) -> None:
    target, pieces = unhurried.host.target(), list[bytes]()
    with shell_on(unhurried) as shell:
        shell.start(target, "job1", CREATE, LIMITS)
        shell.follow(target, "job1", 0, pieces.append, lambda: len(pieces) > 0)
        shell.cancel(target, "job1", kill=True)
        status = shell.follow(target, "job1", 0, pieces.append, lambda: False)
        assert (status.state, status.exit_code) == (JobState.EXITED, 137)
        assert finished(shell, unhurried, "pct start 105")[1] == "CT is locked (create)\n"
        assert finished(shell, unhurried, "pct unlock 105 && pct destroy 105")[0].exit_code == 0
    assert [call.exit_code for call in unhurried.host.calls()] == [None, 255, 0, 0]


def test_cut_connections_lose_no_byte_and_run_nothing_twice(quick: RunningPractice) -> None:
    target, received, cuts = quick.host.target(), bytearray(), list[int]()

    def more(piece: bytes) -> None:
        received.extend(piece)
        if len(cuts) < 3:
            quick.host.drop()

    with shell_on(quick) as shell:
        shell.start(target, "job1", CREATE, LIMITS)
        status = None
        while status is None:
            try:
                status = shell.follow(target, "job1", len(received), more, lambda: False)
            except ConnectionLost:
                cuts.append(len(received))
                assert shell.start(target, "job1", CREATE, LIMITS).state in (JobState.RUNNING, JobState.EXITED)
        whole = bytearray()
        shell.follow(target, "job1", 0, whole.extend, lambda: False)
    assert len(cuts) == 3
    assert status.exit_code == 0
    assert received == whole
    assert len(received) == status.size
    assert [call.exit_code for call in quick.host.calls()] == [0]
