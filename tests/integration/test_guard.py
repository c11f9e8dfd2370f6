"""Steps that can lock Nomos out, on a real SSH server: undone by the host, or called off by a fresh sign-in."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from nomos.actions import executions as actions
from nomos.domain.executions import Execution, State
from nomos.domain.lockout import Danger, Guard
from nomos.ssh.base import JobState
from nomos.worker.guard import guard_id
from tests.harness.hostwork import HostWork, host_work
from tests.harness.sshd import Sshd, running_sshd
from tests.harness.wait import wait_for

SECONDS = 6


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sshd]:
    with running_sshd(tmp_path / "sshd") as found:
        yield found


class Rules:
    """What is feared in these tests: commands that name a word, undone by a command that leaves its mark."""

    def __init__(self, marks: Path) -> None:
        self.undone = marks / "undone"
        self.saved = marks / "saved"
        self.also = "true"
        self.prepare = "true"

    def __call__(self, command: str) -> Danger | None:
        if "danger" not in command:
            return None
        revert = f'{self.also}; cp -a "$G/kept" {shlex.quote(str(self.undone))}'
        return Danger(Guard(revert, f'{self.prepare} && echo kept >"$G/kept"'), None)


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    return Rules(tmp_path)


@pytest.fixture
def work(server: Sshd, tmp_path: Path, rules: Rules) -> Iterator[HostWork]:
    with host_work(server, tmp_path, guard_seconds=SECONDS, rules=rules) as found:
        yield found


def status(work: HostWork, execution: Execution) -> JobState:
    """How the guard's own job is."""
    return work.shell.status(work.server.target(), guard_id(execution.id)).state


def test_a_step_after_which_nomos_can_sign_in_stays(work: HostWork, rules: Rules) -> None:
    done = work.until_ended(work.ask("echo danger"))
    assert (done.state, done.exit_code, done.detail) == (State.SUCCEEDED, 0, None)
    assert (done.guard_seconds, done.guard_revert) == (SECONDS, rules("danger").guard.revert)  # type: ignore[union-attr]
    assert status(work, done) is JobState.EXITED
    assert not rules.undone.exists()
    folders = [p for p in Path("/tmp").glob("tmp.*/kept") if p.stat().st_mtime > done.started_at.timestamp()]  # type: ignore[union-attr]
    assert folders == [], "what the guard saved is removed"


def test_a_step_that_stops_the_ssh_server_is_undone(work: HostWork, rules: Rules) -> None:
    server = work.server
    pid_file = server.folder / "sshd.pid"
    config, log = server.folder / "sshd_config", server.folder / "again.log"
    rules.also = f"/usr/sbin/sshd -f {config} -E {log}"
    execution_id = work.ask(f"kill {server.pid}; echo danger")
    wait_for(lambda: "cannot sign in" in (work.now(execution_id).detail or ""), 20, what="that the card says it")
    assert work.now(execution_id).state is State.RUNNING
    try:
        done = work.until_ended(execution_id, 60)
        assert done.state is State.SUCCEEDED
        assert done.detail is not None
        assert f"could not sign in again within {SECONDS} s, so the host undid it" in done.detail
        assert rules.undone.read_text() == "kept\n"
    finally:
        wait_for(pid_file.exists, what="the server that the host started")
        os.kill(int(pid_file.read_text()), signal.SIGKILL)


def test_what_has_nothing_to_fear_has_no_guard(work: HostWork) -> None:
    done = work.until_ended(work.ask("echo harmless | tee /dev/null"))
    assert done.guard_seconds is None
    assert status(work, done) is JobState.MISSING


def test_without_a_way_back_nothing_is_run(work: HostWork, rules: Rules) -> None:
    rules.prepare = "echo no such firewall; false"
    mark = work.folder / "ran"
    done = work.until_ended(work.ask(f"touch {mark} danger"))
    assert done.state is State.UNREACHABLE
    assert done.detail is not None
    assert "Nothing was run: its way back could not be prepared on the host (no such firewall)" in done.detail
    assert not mark.exists()


def test_a_step_that_takes_longer_than_its_guard_is_undone_too(work: HostWork, rules: Rules) -> None:
    done = work.until_ended(work.ask(f"echo danger; while [ ! -e {rules.undone} ]; do sleep 0.1; done"))
    assert rules.undone.exists()
    assert "the host undid it" in (done.detail or "")


def test_a_guarded_step_can_be_stopped(work: HostWork, rules: Rules) -> None:
    execution_id = work.ask("echo danger; sleep 60")
    work.until_said(execution_id, b"danger")
    actions.cancel(work.store, execution_id, work.clock.now(), by="ada")
    assert work.until_ended(execution_id).state is State.CANCELLED
    assert not rules.undone.exists()
