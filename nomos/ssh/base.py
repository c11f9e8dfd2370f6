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

    ``timeout``: seconds of run time, 0 for none. ``output_cap``: bytes kept in the job's output file, below 2 GiB
    (small shells count in 32 bits). ``stdin``: the command can be given lines by ``Shell.input``, and its stdin never
    ends; without it reading gives the end of file at once.
    """

    timeout: int = 3600
    output_cap: int = 1024 * 1024 * 1024
    stdin: bool = False


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
    """One look at a job. ``size`` counts bytes of output kept on the host; ``boot`` is the host's boot identity now.

    ``taken``: the line of input was handed to the command; if it was not, ``why`` or the state says why.
    """

    state: JobState
    boot: str
    exit_code: int | None = None
    size: int = 0
    truncated: bool = False
    timed_out: bool = False
    why: str = ""
    taken: bool = False


class Shell(Protocol):
    """Jobs on hosts. Safe to call from many threads; one connection a host is kept and shared.

    Every method may raise a ``HostFault``: ``HostUnreachable``, ``HostKeyUnknown``, ``HostKeyChanged``,
    ``HostRefused`` and ``HostUnusable`` mean that nothing was started by this call; ``ConnectionLost`` means that
    it is not known.
    """

    def scan(self, target: Target) -> HostKey:
        """Connect as far as the key exchange and say which key the host shows. Signs in to nothing."""
        ...

    def probe(self, target: Target, *, fresh: bool = True) -> HostFacts:
        """Sign in and find out what Nomos needs to know of the host. Leaves nothing but the job folder behind.

        Without ``fresh`` the answer may be the one that a connection gave which is still open: a host cannot have
        restarted under it.
        """
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

        Returns too when the job becomes ORPHANED; called again, it follows on. Returns the last status; when it says
        EXITED, all output kept has been handed over. ``stop`` is asked at least twice a second. Raises
        ``ConnectionLost`` when the link ends: call again with the new offset.
        """
        ...

    def status(self, target: Target, job_id: str) -> JobStatus:
        """Look at the job once."""
        ...

    def input(self, target: Target, job_id: str, line: str) -> JobStatus:
        """Hand the command one line and its line break on its stdin, whole or not at all; ``taken`` says which.

        Not taken: the job does not run, was started without ``Limits.stdin``, or has not read what it was given
        before. Waits for none of these. Raises InvalidInput for a line break or more than 4,095 bytes. After
        ``ConnectionLost`` it is not known: the line may have been handed over.
        """
        ...

    def cancel(self, target: Target, job_id: str, *, kill: bool = False) -> JobStatus:
        """Send TERM (or KILL) to all of the job's processes, over a fresh connection. The state tells when it ended."""
        ...

    def close(self) -> None:
        """Close all connections. Jobs go on."""
        ...
