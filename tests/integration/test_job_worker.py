"""Executions as the worker carries them on a real SSH server: input, cancellation, odd ends, in words."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomos.actions import executions as actions
from nomos.domain.executions import Risk, State
from tests.harness.hostwork import HostWork, host_work
from tests.harness.sshd import Sshd, processes, running_sshd
from tests.harness.wait import wait_for

KILL_AFTER = 1.5

PARENT = """\
#!/bin/sh
# As pct does without a terminal: the work is in a session of its own, and TERM is handed on to it.
setsid "$1" & worker=$!
trap 'echo forwarded; kill -TERM $worker' TERM
echo "worker $worker"
while kill -0 $worker 2>/dev/null; do wait $worker; code=$?; done
echo "task ended with $code"
exit 255
"""
OBEYS = "#!/bin/sh\ntrap 'echo received interrupt; kill $nap; exit 1' TERM\necho working\nsleep 300 & nap=$!\nwait\n"
IGNORES = "#!/bin/sh\ntrap 'echo not now' TERM\necho working\nwhile :; do sleep 0.2; done\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with running_sshd(tmp_path_factory.mktemp("worker") / "sshd") as found:
        yield found


@pytest.fixture
def work(server: Sshd, tmp_path: Path) -> Iterator[HostWork]:
    with host_work(server, tmp_path, kill_after=KILL_AFTER) as found:
        yield found


def program(work: HostWork, name: str, text: str) -> Path:
    path = work.folder / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def task(work: HostWork, text: str) -> str:
    """A stand-in for ``pct exec`` whose work is the script ``text``."""
    return f"{program(work, 'parent', PARENT)} {program(work, 'task', text)}"


def worker_of(work: HostWork, execution_id: str) -> int:
    work.until_said(execution_id, b"working")
    return int(next(line for line in work.output(execution_id).split(b"\n") if line.startswith(b"worker ")).split()[1])


def alive(pid: int) -> bool:
    return pid in {found for found, _ in processes()}


def pid_of(work: HostWork, execution_id: str, letter: str) -> int:
    (name,) = (work.server.base / execution_id).glob(f"{letter}.*.*")
    return int(name.name.split(".")[1])


def test_cancel_reaches_a_task_in_a_session_of_its_own(work: HostWork) -> None:
    execution_id = work.ask(task(work, OBEYS))
    worker = worker_of(work, execution_id)
    work.cancel(execution_id)
    ended = work.until_ended(execution_id)
    assert (ended.state, ended.exit_code, ended.detail) == (State.CANCELLED, 255, "ended by you")
    said = work.output(execution_id)
    assert said.index(b"forwarded") < said.index(b"received interrupt") < said.index(b"task ended with 1")
    assert not alive(worker)


def test_cancelled_is_said_only_when_what_ignores_term_was_killed(work: HostWork) -> None:
    execution_id = work.ask(task(work, IGNORES))
    worker = worker_of(work, execution_id)
    work.cancel(execution_id)
    work.until_said(execution_id, b"not now")
    stopping = work.now(execution_id)
    assert (stopping.state, stopping.detail) == (State.RUNNING, "stopping, asked by ada")
    ended = work.until_ended(execution_id)
    assert (ended.state, ended.exit_code) == (State.CANCELLED, 137)
    assert not alive(worker)


def test_a_line_of_input_is_handed_to_a_command_that_changes_something(work: HostWork) -> None:
    execution_id = work.ask("printf 'Continue? [Y/n] '; read -r answer; echo \"got $answer\"")
    work.until_said(execution_id, b"Continue?")
    actions.answer(work.store, execution_id, "yes", work.clock.now(), by="ada")
    assert work.until_ended(execution_id).state is State.SUCCEEDED
    assert work.output(execution_id) == b"Continue? [Y/n] got yes\n"


def test_a_command_that_reads_gets_no_input(work: HostWork) -> None:
    execution_id = work.ask("cat; echo end", Risk.READ)
    assert work.until_ended(execution_id).state is State.SUCCEEDED
    assert work.output(execution_id) == b"end\n"


def test_a_killed_supervisor_is_said_while_the_command_lives_and_after(work: HostWork) -> None:
    execution_id = work.ask("echo begun; while [ ! -e go ]; do sleep 0.1; done; echo after")
    work.until_said(execution_id, b"begun")
    os.kill(pid_of(work, execution_id, "s"), signal.SIGKILL)
    wait_for(lambda: "supervisor" in (work.now(execution_id).detail or ""), what="the words on the card")
    assert work.now(execution_id).state is State.RUNNING
    (work.server.home / "go").touch()
    ended = work.until_ended(execution_id)
    assert (ended.state, ended.exit_code) == (State.UNKNOWN, None)
    assert "its supervisor" in (ended.detail or "")
    assert work.output(execution_id) == b"begun\nafter\n"


def test_a_restart_of_the_host_is_told_with_its_time(work: HostWork) -> None:
    execution_id = work.ask("echo begun; sleep 300")
    work.until_said(execution_id, b"begun")
    (name,) = (work.server.base / execution_id).glob("s.*.*.*")
    pids = [pid_of(work, execution_id, letter) for letter in "sc"]
    name.rename(name.with_name(".".join(name.name.split(".")[:3]) + ".another-boot-1"))
    work.server.kill_connections()
    ended = work.until_ended(execution_id)
    assert ended.state is State.UNKNOWN
    assert (ended.detail or "").startswith("the host restarted at 20")
    for pid in reversed(pids):
        os.kill(pid, signal.SIGKILL)


def test_term_from_elsewhere_is_explained(work: HostWork) -> None:
    ended = work.until_ended(work.ask("kill -TERM $$; sleep 5"))
    assert (ended.state, ended.exit_code) == (State.FAILED, 143)
    assert "enable-linger" in (ended.detail or "")


def test_what_a_connection_found_is_asked_again_only_on_a_new_one(work: HostWork) -> None:
    target = work.server.target()
    work.until_ended(work.ask("true"))
    facts = work.shell.probe(target, fresh=False)
    work.until_ended(work.ask("true"))
    assert work.shell.probe(target, fresh=False) is facts
    work.server.kill_connections()
    wait_for(lambda: work.shell.probe(target, fresh=False) is not facts, what="a look over a new connection")
    assert work.shell.probe(target, fresh=False).boot == facts.boot
