"""The Shell protocol: how Nomos starts, follows and ends jobs on a host.

A job is one command that lives on the host by itself, in a folder named after the execution's id. Its outcome is
only ever read from that folder, never from SSH's exit status (a cut cable looks like exit -1 to paramiko).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Target:
    """Where and as whom to connect.

    ``host_key`` is the trusted key as ``"<type> <base64>"`` (one line as in a .pub file, no comment), None while the
    host is not trusted yet. ``key_path`` is a private key file. ``interpreter`` replaces ``sh`` as what runs
    command texts (the practice host names its own). ``job_base`` is the folder for jobs, pinned once it is known:
    another choice later could claim a second folder and run a command twice.
    """

    name: str
    address: str
    port: int
    user: str
    key_path: str | None = None
    host_key: str | None = None
    interpreter: str | None = None
    job_base: str | None = None


@dataclass(frozen=True, slots=True)
class HostKey:
    """A key that a host showed: ``line`` as ``"<type> <base64>"``, ``fingerprint`` as ``"SHA256:…"``."""

    line: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What a probe found: boot identity, folder for jobs, system line (``uname -srm``), shell, milliseconds it took."""

    boot: str
    job_base: str
    system: str
    shell: str
    latency_ms: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that the host itself enforces, also while Nomos is away.

    ``timeout``: seconds of run time, 0 for none. ``output_cap``: bytes kept in the job's output file.
    """

    timeout: int = 3600
    output_cap: int = 64 * 1024 * 1024


class JobState(StrEnum):
    """What a job's folder says."""

    MISSING = "missing"  # no folder; with the same boot identity it was never started
    STARTING = "starting"  # claimed, its supervisor lives
    RUNNING = "running"
    ORPHANED = "orphaned"  # the supervisor is gone but the command lives: it goes on, its exit will not be known
    EXITED = "exited"  # exit_code is true
    NEVER_STARTED = "never_started"  # claimed, given up before the command ran; it never will run
    UNKNOWN = "unknown"  # it ran, and how it ended cannot be known; ``why`` says what is known


ENDED = frozenset({JobState.EXITED, JobState.NEVER_STARTED, JobState.UNKNOWN})


@dataclass(frozen=True, slots=True)
class JobStatus:
    """One look at a job. ``size`` counts bytes of output kept on the host; ``boot`` is the host's boot identity now."""

    state: JobState
    boot: str
    exit_code: int | None = None
    size: int = 0
    truncated: bool = False
    timed_out: bool = False
    why: str = ""


class Shell(Protocol):
    """Jobs on hosts. Safe to call from many threads; one connection a host is kept and shared.

    Every method may raise a ``HostFault``: ``HostUnreachable``, ``HostKeyUnknown``, ``HostKeyChanged``,
    ``HostRefused`` and ``HostUnusable`` mean that nothing was started by this call; ``ConnectionLost`` means that
    it is not known.
    """

    def scan(self, target: Target) -> HostKey:
        """Connect as far as the key exchange and say which key the host shows. Signs in to nothing."""
        ...

    def probe(self, target: Target) -> HostFacts:
        """Sign in and find out what Nomos needs to know of the host. Leaves nothing but the job folder behind."""
        ...

    def start(self, target: Target, job_id: str, command: str, limits: Limits) -> JobStatus:
        """Start ``command`` as job ``job_id``; with an id that exists, start nothing and say how that job is.

        ``target.job_base`` must be set. After ``ConnectionLost`` the same call may be made again: it never
        starts the command twice.
        """
        ...

    def follow(
        self, target: Target, job_id: str, offset: int, on_bytes: Callable[[bytes], None], stop: Callable[[], bool]
    ) -> JobStatus:
        """Hand over the job's output from byte ``offset`` on as it comes, until the job has ended or ``stop()``.

        Returns the last status; when it says EXITED, all output kept has been handed over. ``stop`` is asked at
        least twice a second. Raises ``ConnectionLost`` when the link ends: call again with the new offset.
        """
        ...

    def status(self, target: Target, job_id: str) -> JobStatus:
        """Look at the job once."""
        ...

    def cancel(self, target: Target, job_id: str, *, kill: bool = False) -> JobStatus:
        """Send TERM (or KILL) to all of the job's processes, over a fresh connection. The state tells when it ended."""
        ...

    def close(self) -> None:
        """Close all connections. Jobs go on."""
        ...
