"""ScriptedShell: the Shell protocol without a network, answering from a table. Honours the same contract tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from nomos.errors import ConnectionLost, HostKeyChanged, HostKeyUnknown, HostUnreachable, HostUnusable
from nomos.ssh.base import ENDED, HostFacts, HostKey, JobState, JobStatus, Limits, Target
from nomos.ssh.keys import fingerprint
from nomos.ssh.request import check_input, check_job

_KEY_LINE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"
SCRIPTED_KEY = HostKey(line=_KEY_LINE, fingerprint=fingerprint(_KEY_LINE))
"""The key that every scripted host shows."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command does: its output in pieces, ``pace`` seconds apart, then its exit code.

    With ``holds`` it runs on after the last piece until it is finished, cancelled or out of time. With ``reads`` it
    runs on until it is given a line, and prints that; its stdin holds ``room`` lines that it does not read.
    """

    pieces: tuple[bytes, ...] = ()
    exit_code: int = 0
    pace: float = 0
    holds: bool = False
    reads: bool = False
    room: int = 16


@dataclass(slots=True)
class _Job:
    answer: Answer
    limits: Limits
    boot: str
    started: float
    exit_code: int | None = None
    timed_out: bool = False
    output: bytes = b""
    given: list[str] = field(default_factory=list)
    truncated: bool = False


@dataclass(slots=True)
class _Host:
    boot: int = 1
    reachable: bool = True
    links: int = 0  # goes up with every cut: whoever holds an older number has lost the connection
    jobs: dict[str, _Job] = field(default_factory=dict)


class ScriptedShell:
    """Hosts in memory, by target name. ``starts`` lists what was really started, as (host, job id, command)."""

    def __init__(self, answers: Mapping[str, Answer], otherwise: Answer | None = None) -> None:
        """:param otherwise: the answer to commands that are not in the table; 127 if none is given."""
        self._answers = dict(answers)
        self._otherwise = otherwise or Answer(pieces=(b"sh: not found\n",), exit_code=127)
        self._hosts: dict[str, _Host] = {}
        self._changed = threading.Condition()
        self._answers_to_lose = 0
        self.starts: list[tuple[str, str, str]] = []

    # Orders, for tests and scenarios

    def cut(self, host: str) -> None:
        """End every connection to the host; its jobs go on."""
        with self._changed:
            self._host(host).links += 1
            self._changed.notify_all()

    def lose_next_answer(self) -> None:
        """Let the next start take place, and lose its answer."""
        with self._changed:
            self._answers_to_lose += 1

    def reach(self, host: str, reachable: bool) -> None:
        """Let the host be reachable or not; its jobs go on."""
        with self._changed:
            self._host(host).reachable = reachable
            self._host(host).links += 1
            self._changed.notify_all()

    def restart(self, host: str) -> None:
        """Boot the host anew: what ran there did not record an end."""
        with self._changed:
            self._host(host).boot += 1
            self._host(host).links += 1
            self._changed.notify_all()

    def finish(self, host: str, job_id: str, exit_code: int = 0) -> None:
        """Let a job that holds end now."""
        with self._changed:
            self._host(host).jobs[job_id].exit_code = exit_code
            self._changed.notify_all()

    # The protocol

    def scan(self, target: Target) -> HostKey:
        """See Shell.scan."""
        with self._changed:
            if not self._host(target.name).reachable:
                raise HostUnreachable(f"{target.name} is not reachable.")
        return SCRIPTED_KEY

    def probe(self, target: Target, *, fresh: bool = True) -> HostFacts:  # noqa: ARG002 - memory is always fresh
        """See Shell.probe."""
        with self._changed:
            host = self._signed_in(target)
            base = target.job_base or "/var/lib/nomos/jobs"
            return HostFacts(_boot(host), base, "Linux 6.8.12 x86_64", "/usr/bin/bash", 1.0)

    def start(self, target: Target, job_id: str, command: str, limits: Limits) -> JobStatus:
        """See Shell.start."""
        check_job(job_id, command)
        with self._changed:
            host = self._with_jobs(target)
            if job_id not in host.jobs:
                answer = self._answers.get(command, self._otherwise)
                host.jobs[job_id] = _Job(answer, limits, _boot(host), time.monotonic())
                self.starts.append((target.name, job_id, command))
            if self._answers_to_lose:
                self._answers_to_lose -= 1
                raise ConnectionLost(f"The connection to {target.name} ended before the answer.")
            return _look(host, job_id)

    def status(self, target: Target, job_id: str) -> JobStatus:
        """See Shell.status."""
        check_job(job_id)
        with self._changed:
            return _look(self._with_jobs(target), job_id)

    def input(self, target: Target, job_id: str, line: str) -> JobStatus:
        """See Shell.input."""
        check_job(job_id)
        check_input(line)
        with self._changed:
            host = self._with_jobs(target)
            status = _look(host, job_id)
            if status.state is not JobState.RUNNING:
                return status
            job = host.jobs[job_id]
            if not job.limits.stdin:
                return replace(status, why="the command was started without a way to give it input")
            if len(job.given) >= job.answer.room:
                return replace(status, why="the command does not read its input")
            job.given.append(line)
            self._changed.notify_all()
            return replace(status, taken=True)

    def cancel(self, target: Target, job_id: str, *, kill: bool = False) -> JobStatus:
        """See Shell.cancel."""
        check_job(job_id)
        with self._changed:
            host = self._with_jobs(target)
            before = _look(host, job_id)
            if before.state is JobState.RUNNING:
                host.jobs[job_id].exit_code = 137 if kill else 143
                self._changed.notify_all()
            return before

    def follow(
        self, target: Target, job_id: str, offset: int, on_bytes: Callable[[bytes], None], stop: Callable[[], bool]
    ) -> JobStatus:
        """See Shell.follow."""
        check_job(job_id)
        with self._changed:
            host = self._with_jobs(target)
            link = host.links
        while True:
            with self._changed:
                if host.links != link:
                    raise ConnectionLost(f"The connection to {target.name} ended while the output was read.")
                status = _look(host, job_id)
                job = host.jobs.get(job_id)
                chunk = job.output[offset:] if job else b""
            if chunk:
                on_bytes(chunk)
                offset += len(chunk)
            if status.state in ENDED or status.state is JobState.MISSING or stop():
                return status
            with self._changed:
                self._changed.wait(0.02)

    def close(self) -> None:
        """See Shell.close."""
        with self._changed:
            for host in self._hosts.values():
                host.links += 1
            self._changed.notify_all()

    def _host(self, name: str) -> _Host:
        return self._hosts.setdefault(name, _Host())

    def _signed_in(self, target: Target) -> _Host:
        host = self._host(target.name)
        if target.host_key is None:
            raise HostKeyUnknown(f"{target.name} has no trusted host key yet.")
        if not host.reachable:
            raise HostUnreachable(f"{target.name} is not reachable.")
        if target.host_key != SCRIPTED_KEY.line:
            raise HostKeyChanged(
                f"{target.name} shows another host key. Trusted: {fingerprint(target.host_key)}. "
                f"Shown now: {SCRIPTED_KEY.fingerprint}."
            )
        return host

    def _with_jobs(self, target: Target) -> _Host:
        if target.job_base is None:
            raise HostUnusable(f"The folder for jobs on {target.name} is not known yet. Test the host first.")
        return self._signed_in(target)


def _boot(host: _Host) -> str:
    return f"boot-{host.boot}"


def _look(host: _Host, job_id: str) -> JobStatus:
    boot = _boot(host)
    job = host.jobs.get(job_id)
    if job is None:
        return JobStatus(state=JobState.MISSING, boot=boot)
    if job.boot == boot or job.exit_code is not None:
        _let_time_pass(job)
    status = JobStatus(
        state=JobState.RUNNING,
        boot=boot,
        size=len(job.output),
        truncated=job.truncated,
        timed_out=job.timed_out,
    )
    if job.exit_code is not None:
        return replace(status, state=JobState.EXITED, exit_code=job.exit_code)
    if job.boot != boot:
        why = "the host restarted while it ran, and its end was not recorded"
        return replace(status, state=JobState.UNKNOWN, why=why)
    return status


def _let_time_pass(job: _Job) -> None:
    """Bring output and exit code to where they are by now."""
    if job.exit_code is not None:
        return
    passed = time.monotonic() - job.started
    pieces = job.answer.pieces
    shown = len(pieces) if not job.answer.pace else min(len(pieces), 1 + int(passed / job.answer.pace))
    read = job.given[:1] if job.answer.reads and shown == len(pieces) else []
    output = b"".join([*pieces[:shown], *(f"{line}\n".encode() for line in read)])
    job.truncated = len(output) > job.limits.output_cap
    job.output = output[: job.limits.output_cap]
    if shown == len(pieces) and not job.answer.holds and (read or not (job.answer.reads and job.limits.stdin)):
        job.exit_code = job.answer.exit_code
    elif job.limits.timeout and passed >= job.limits.timeout:
        job.exit_code, job.timed_out = 143, True
