"""What runs beside what on one host, and when silence ends a command: over a real SSH server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nomos.domain.executions import Risk, State
from tests.harness.hostwork import HostWork, host_work
from tests.harness.sshd import Sshd, running_sshd
from tests.harness.wait import wait_for


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with running_sshd(tmp_path_factory.mktemp("order") / "sshd") as found:
        yield found


@pytest.fixture
def work(server: Sshd, tmp_path: Path) -> Iterator[HostWork]:
    with host_work(server, tmp_path) as found:
        yield found


def until(path: Path, word: str) -> str:
    return f"echo {word}; while [ ! -e {path} ]; do sleep 0.05; done"


def test_changes_of_one_host_run_one_after_the_other_and_reads_beside_them(work: HostWork, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = work.ask(until(gate, "first"))
    work.until_said(first, b"first")
    second = work.ask("echo second")
    beside = work.ask("uptime", Risk.READ)
    assert work.until_ended(beside).state is State.SUCCEEDED
    assert work.now(second).state is State.QUEUED
    gate.touch()
    ended_first, ended_second = work.until_ended(first), work.until_ended(second)
    assert (ended_first.state, ended_second.state) == (State.SUCCEEDED, State.SUCCEEDED)
    assert ended_second.started_at is not None
    assert ended_first.ended_at is not None
    assert ended_second.started_at >= ended_first.ended_at


def test_a_step_that_the_plan_calls_parallel_does_not_wait(work: HostWork, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    first = work.ask(until(gate, "first"))
    work.until_said(first, b"first")
    beside = work.ask("echo beside", parallel=True)
    assert work.until_ended(beside).state is State.SUCCEEDED
    assert work.now(first).state is State.RUNNING
    gate.touch()
    work.until_ended(first)


def test_silence_ends_a_command_only_where_that_is_set(server: Sshd, tmp_path: Path) -> None:
    with host_work(server, tmp_path, silence=1) as work:
        quiet = work.ask("echo said; sleep 600")
        ended = work.until_ended(quiet)
        assert ended.state is State.TIMED_OUT
        assert ended.detail == "ended after 1 s without output"
        talks = work.ask("for n in 1 2 3 4 5 6; do echo $n; sleep 0.3; done")
        assert work.until_ended(talks).state is State.SUCCEEDED


def test_a_question_is_seen_only_in_an_unfinished_last_line(work: HostWork) -> None:
    asks = work.ask("printf 'Are you sure? '; read -r reply; echo \"$reply\"")
    question = wait_for(lambda: work.now(asks).question, 20, "the question")
    assert question == "Are you sure?"
    work.cancel(asks)
    work.until_ended(asks)
