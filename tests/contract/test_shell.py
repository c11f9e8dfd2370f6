"""What every Shell promises: the same tests over the scripted one and over a real OpenSSH server."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from nomos.errors import ConnectionLost, HostKeyChanged, HostKeyUnknown, HostUnusable, InvalidInput
from nomos.ssh.base import JobState, JobStatus, Limits, Shell, Target
from nomos.ssh.keys import ensure_key
from nomos.ssh.paramiko_shell import ParamikoShell
from nomos.ssh.scripted import SCRIPTED_KEY, Answer, ScriptedShell
from tests.harness.sshd import running_sshd
from tests.harness.wait import wait_for

WORDS = "echo one; echo two >&2; exit 3"
PIECES = "for i in 1 2 3 4; do echo piece $i; sleep 0.3; done"
HOLD = "echo begun; sleep 300"
LONG = "printf '%0200000d' 0; exit 0"
COUNT = "echo x >>count; sleep 0.5"
ASK = "printf 'Continue? [Y/n] '; read -r answer; echo \"$answer\""

ANSWERS = {
    WORDS: Answer(pieces=(b"one\n", b"two\n"), exit_code=3),
    PIECES: Answer(pieces=(b"piece 1\n", b"piece 2\n", b"piece 3\n", b"piece 4\n"), pace=0.3),
    HOLD: Answer(pieces=(b"begun\n",), holds=True),
    LONG: Answer(pieces=(b"0" * 200_000,)),
    COUNT: Answer(pieces=(b"", b""), pace=0.5),
    ASK: Answer(pieces=(b"Continue? [Y/n] ",), reads=True),
}


@dataclass
class Case:
    """A shell, a host it reaches, and the two things only the host's side can do."""

    shell: Shell
    target: Target
    cut: Callable[[], object]
    runs: Callable[[], int]
    jobs: list[str] = field(default_factory=list)

    def start(self, command: str, limits: Limits | None = None) -> str:
        job_id = str(uuid.uuid4())
        status = self.shell.start(self.target, job_id, command, limits or Limits())
        assert status.state in {JobState.STARTING, JobState.RUNNING, JobState.EXITED}
        return job_id

    def follow(self, job_id: str, offset: int = 0) -> tuple[bytes, JobStatus]:
        chunks: list[bytes] = []
        status = self.shell.follow(self.target, job_id, offset, chunks.append, lambda: False)
        return b"".join(chunks), status


@pytest.fixture(params=["scripted", "real"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    if request.param == "scripted":
        shell = ScriptedShell(ANSWERS)
        target = Target(
            name="lab", address="192.0.2.1", port=22, user="root", host_key=SCRIPTED_KEY.line, job_base="/jobs"
        )
        runs = lambda: sum(command == COUNT for _, _, command in shell.starts)  # noqa: E731
        yield Case(shell, target, lambda: shell.cut("lab"), runs)
        return
    with running_sshd(tmp_path / "sshd") as server:
        real = ParamikoShell(server.key_path)
        try:
            count = server.home / "count"
            yield Case(real, server.target(), server.kill_connections, lambda: len(count.read_text().splitlines()))
        finally:
            real.close()


def test_a_command_gives_its_output_in_order_and_its_exit_code(case: Case) -> None:
    output, status = case.follow(case.start(WORDS))
    assert output == b"one\ntwo\n"
    assert (status.state, status.exit_code, status.size, status.truncated) == (JobState.EXITED, 3, 8, False)


def test_output_arrives_while_the_command_runs(case: Case) -> None:
    job_id = case.start(PIECES)
    chunks: list[bytes] = []
    states: list[JobState] = []

    def take(chunk: bytes) -> None:
        chunks.append(chunk)
        if len(chunks) == 1:
            states.append(case.shell.status(case.target, job_id).state)

    case.shell.follow(case.target, job_id, 0, take, lambda: False)
    assert b"".join(chunks) == b"piece 1\npiece 2\npiece 3\npiece 4\n"
    assert len(chunks) > 1
    assert states == [JobState.RUNNING]


def test_following_again_begins_at_the_offset(case: Case) -> None:
    job_id = case.start(WORDS)
    case.follow(job_id)
    assert case.follow(job_id, 4)[0] == b"two\n"
    assert case.follow(job_id, 8)[0] == b""


def test_eight_starts_at_once_run_the_command_once(case: Case) -> None:
    job_id = str(uuid.uuid4())
    with ThreadPoolExecutor(8) as threads:
        calls = [threads.submit(case.shell.start, case.target, job_id, COUNT, Limits()) for _ in range(8)]
        for call in calls:
            assert call.result().state in {JobState.STARTING, JobState.RUNNING, JobState.EXITED}
    assert case.follow(job_id)[1].exit_code == 0
    assert case.shell.start(case.target, job_id, COUNT, Limits()).state is JobState.EXITED
    assert case.runs() == 1


def test_a_cut_connection_is_no_outcome_and_no_byte_is_lost(case: Case) -> None:
    job_id = case.start(PIECES)
    received = bytearray()

    def take(chunk: bytes) -> None:
        received.extend(chunk)
        if len(received) == 8:
            case.cut()

    with pytest.raises(ConnectionLost):
        case.shell.follow(case.target, job_id, 0, take, lambda: False)
    status = case.shell.follow(case.target, job_id, len(received), received.extend, lambda: False)
    assert bytes(received) == b"piece 1\npiece 2\npiece 3\npiece 4\n"
    assert (status.state, status.exit_code) == (JobState.EXITED, 0)


def test_following_stops_when_asked_and_the_job_goes_on(case: Case) -> None:
    job_id = case.start(HOLD)
    asked = threading.Event()
    ended: list[JobStatus] = []
    received = bytearray()
    follower = threading.Thread(
        target=lambda: ended.append(case.shell.follow(case.target, job_id, 0, received.extend, asked.is_set))
    )
    follower.start()
    wait_for(lambda: bytes(received) == b"begun\n", what="the first line")
    asked.set()
    follower.join(5)
    assert [status.state for status in ended] == [JobState.RUNNING]
    assert case.shell.status(case.target, job_id).state is JobState.RUNNING
    case.shell.cancel(case.target, job_id, kill=True)


@pytest.mark.parametrize(("kill", "code"), [(False, 143), (True, 137)])
def test_cancel_ends_the_job_and_the_state_tells(case: Case, kill: bool, code: int) -> None:
    job_id = case.start(HOLD)
    case.shell.cancel(case.target, job_id, kill=kill)
    output, status = case.follow(job_id)
    assert (output, status.state, status.exit_code) == (b"begun\n", JobState.EXITED, code)
    assert case.shell.cancel(case.target, job_id).state is JobState.EXITED


def test_a_line_of_input_reaches_the_command(case: Case) -> None:
    job_id = case.start(ASK, Limits(stdin=True))
    line = "ja, 'gern' $HOME \\ \t%s ü"
    status = case.shell.input(case.target, job_id, line)
    assert (status.state, status.taken, status.why) == (JobState.RUNNING, True, "")
    output, status = case.follow(job_id)
    assert output.decode() == f"Continue? [Y/n] {line}\n"
    assert (status.state, status.exit_code) == (JobState.EXITED, 0)
    late = case.shell.input(case.target, job_id, "too late")
    assert (late.state, late.exit_code, late.taken) == (JobState.EXITED, 0, False)


def test_a_command_without_input_reads_the_end_of_file(case: Case) -> None:
    output, status = case.follow(case.start(ASK))
    assert (output.decode().rstrip(), status.state) == ("Continue? [Y/n]", JobState.EXITED)
    job_id = case.start(HOLD)
    status = case.shell.input(case.target, job_id, "hello")
    assert (status.state, status.taken) == (JobState.RUNNING, False)
    assert "without" in status.why
    assert case.shell.input(case.target, str(uuid.uuid4()), "hello").state is JobState.MISSING
    case.shell.cancel(case.target, job_id, kill=True)


def test_input_that_nobody_reads_is_refused_and_holds_nothing_up(case: Case) -> None:
    job_id = case.start(HOLD, Limits(stdin=True))
    answers = [case.shell.input(case.target, job_id, "x" * 4095) for _ in range(17)]
    assert [status.taken for status in answers] == [True] * 16 + [False]
    assert "does not read" in answers[-1].why
    case.shell.cancel(case.target, job_id, kill=True)


@pytest.mark.parametrize("line", ["a\nb", "\0", "ü" * 2048])
def test_what_is_not_one_line_is_not_sent(case: Case, line: str) -> None:
    with pytest.raises(InvalidInput):
        case.shell.input(case.target, "none", line)


def test_the_hosts_own_timeout_ends_the_job(case: Case) -> None:
    _, status = case.follow(case.start(HOLD, Limits(timeout=1)))
    assert (status.state, status.exit_code, status.timed_out) == (JobState.EXITED, 143, True)


def test_output_beyond_the_cap_is_dropped_and_the_command_unharmed(case: Case) -> None:
    output, status = case.follow(case.start(LONG, Limits(output_cap=100_000)))
    assert (status.state, status.exit_code, status.truncated) == (JobState.EXITED, 0, True)
    assert 100_000 <= len(output) <= 100_000 + 65536
    assert status.size == len(output)


def test_a_job_that_was_never_asked_for_is_missing(case: Case) -> None:
    job_id = str(uuid.uuid4())
    assert case.shell.status(case.target, job_id).state is JobState.MISSING
    assert case.follow(job_id)[1].state is JobState.MISSING
    assert case.shell.cancel(case.target, job_id).state is JobState.MISSING


def test_the_boot_is_the_same_in_every_look(case: Case) -> None:
    facts = case.shell.probe(case.target)
    assert facts.boot == case.shell.status(case.target, "none").boot
    assert facts.job_base == case.target.job_base
    assert facts.system.startswith("Linux ")
    assert facts.latency_ms > 0


def test_an_untrusted_host_is_not_signed_in_to(case: Case) -> None:
    unknown = replace(case.target, host_key=None)
    assert case.shell.scan(unknown).line == case.target.host_key
    for call in (
        lambda: case.shell.probe(unknown),
        lambda: case.shell.start(unknown, "none", WORDS, Limits()),
        lambda: case.shell.status(unknown, "none"),
    ):
        with pytest.raises(HostKeyUnknown):
            call()


def test_another_host_key_is_a_hard_stop(case: Case, tmp_path: Path) -> None:
    other = " ".join(ensure_key(tmp_path / "other").split()[:2])
    with pytest.raises(HostKeyChanged) as caught:
        case.shell.start(replace(case.target, host_key=other), "none", WORDS, Limits())
    assert caught.value.detail.count("SHA256:") == 2
    assert case.shell.status(case.target, "none").state is JobState.MISSING


def test_without_a_known_folder_nothing_is_started(case: Case) -> None:
    with pytest.raises(HostUnusable):
        case.shell.start(replace(case.target, job_base=None), "none", WORDS, Limits())


@pytest.mark.parametrize("job_id", ["", "a b", "../x", "a/b", "x" * 65, "a;b"])
def test_ids_that_could_mean_something_else_are_refused(case: Case, job_id: str) -> None:
    with pytest.raises(InvalidInput):
        case.shell.start(case.target, job_id, WORDS, Limits())


@pytest.mark.parametrize("command", ["echo \0", "x" * 100_001])
def test_commands_that_cannot_be_sent_are_refused(case: Case, command: str) -> None:
    with pytest.raises(InvalidInput):
        case.shell.start(case.target, "none", command, Limits())
