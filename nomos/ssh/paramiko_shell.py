"""The Shell protocol over real SSH."""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import paramiko

from nomos.errors import ConnectionLost, HostUnusable
from nomos.ssh.base import ENDED, HostFacts, HostKey, JobState, JobStatus, Limits, Target
from nomos.ssh.connection import Deadlines, connect, exchange_keys, hang_up, place
from nomos.ssh.keys import host_key, load_key
from nomos.ssh.pool import Pool
from nomos.ssh.reply import check_refusal, marked_lines, read_facts, read_status
from nomos.ssh.request import Request, check_input, check_job

_CHUNK = 65536
_CONNECTS = 3  # at once to one host: OpenSSH begins to drop sign-ins at ten (MaxStartups)
_FOLLOW_SECONDS = 300  # then a follower on the host ends by itself and is asked for again, so that none can hang
_GRACE_SECONDS = 10  # from TERM to KILL, when the time of a job is over
_STOP_INTERVAL = 0.25
_FAULTS = (paramiko.SSHException, EOFError, OSError)

_Key = tuple[str, int, str, str | None, str | None]


class ParamikoShell:
    """Jobs on hosts over SSH. Connections are kept until ``close``.

    ``default_key``: Nomos's own private key, for targets that name none.
    """

    def __init__(self, default_key: Path, deadlines: Deadlines | None = None) -> None:
        self._default_key = default_key
        self._deadlines = deadlines or Deadlines()
        self._lock = threading.Lock()
        self._pools: dict[_Key, Pool] = {}
        self._gates: dict[tuple[str, int], threading.BoundedSemaphore] = {}

    def scan(self, target: Target) -> HostKey:
        """See Shell.scan."""
        with self._gate(target):
            transport = exchange_keys(target, self._deadlines)
        try:
            return host_key(transport.get_remote_server_key())
        finally:
            hang_up(transport)

    def probe(self, target: Target, *, fresh: bool = True) -> HostFacts:
        """See Shell.probe."""
        pool = self._pool(target)
        known = None if fresh else pool.facts()
        if known is not None and known.job_base == (target.job_base or known.job_base):
            return known
        started = time.monotonic()
        request = self._request(target, "probe")
        with pool.channel(request.exec_text()) as channel:
            lines, noise = self._ask(channel, target, request)
            check_refusal(lines, place(target))
            facts = read_facts(lines, latency_ms=(time.monotonic() - started) * 1000)
            if facts is None:
                raise HostUnusable(f"{place(target)} did not run Nomos's request; it said: {_excerpt(noise)}")
            pool.remember(channel, facts)
        return facts

    def start(self, target: Target, job_id: str, command: str, limits: Limits) -> JobStatus:
        """See Shell.start."""
        check_job(job_id, command)
        words = ["start", job_id, str(limits.output_cap), str(limits.timeout), str(_GRACE_SECONDS)]
        request = self._request(target, *words, *(["stdin"] if limits.stdin else []), command=command)
        with self._pool(target).channel(request.exec_text()) as channel:
            return self._status(channel, target, request)

    def status(self, target: Target, job_id: str) -> JobStatus:
        """See Shell.status."""
        check_job(job_id)
        request = self._request(target, "status", job_id)
        with self._pool(target).channel(request.exec_text()) as channel:
            return self._status(channel, target, request)

    def input(self, target: Target, job_id: str, line: str) -> JobStatus:
        """See Shell.input."""
        check_job(job_id)
        check_input(line)
        request = self._request(target, "input", job_id, command=line)
        with self._pool(target).channel(request.exec_text()) as channel:
            return self._status(channel, target, request)

    def cancel(self, target: Target, job_id: str, *, kill: bool = False) -> JobStatus:
        """See Shell.cancel."""
        check_job(job_id)
        request = self._request(target, "cancel", job_id, "KILL" if kill else "TERM")
        # A fresh connection: Stop must work also when the kept one hangs or is full.
        pool = Pool(target, lambda: self._connect(target), self._deadlines)
        try:
            with pool.channel(request.exec_text()) as channel:
                return self._status(channel, target, request)
        finally:
            pool.close()

    def follow(
        self, target: Target, job_id: str, offset: int, on_bytes: Callable[[bytes], None], stop: Callable[[], bool]
    ) -> JobStatus:
        """See Shell.follow."""
        check_job(job_id)
        reader = _Reader(offset, on_bytes, stop)
        while True:
            request = self._request(target, "follow", job_id, str(reader.offset), str(_FOLLOW_SECONDS))
            reader.begin(request.mark)
            with self._pool(target).channel(request.exec_text()) as channel:
                stopped = self._read(channel, target, request, reader)
            first, last = reader.states()
            orphaned = last.state is JobState.ORPHANED and first.state is not JobState.ORPHANED
            if stopped or orphaned or last.state is JobState.MISSING:
                return replace(last, size=max(last.size, reader.offset))
            # The follower on the host ends with the job and may leave the last bytes behind: then ask for them.
            if last.state in ENDED and (reader.offset >= last.size or first.state in ENDED):
                return last

    def close(self) -> None:
        """See Shell.close."""
        with self._lock:
            pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            pool.close()

    def _request(self, target: Target, *words: str, command: str = "") -> Request:
        if target.job_base is None and words[0] != "probe":
            raise HostUnusable(f"The folder for jobs on {place(target)} is not known yet. Test the host first.")
        return Request(
            words=words,
            mark=secrets.token_hex(8),
            base=target.job_base or "",
            interpreter=target.interpreter or "",
            command=command,
        )

    def _pool(self, target: Target) -> Pool:
        key = (target.address, target.port, target.user, target.key_path, target.host_key)
        with self._lock:
            if key not in self._pools:
                self._pools[key] = Pool(target, lambda: self._connect(target), self._deadlines)
            return self._pools[key]

    def _connect(self, target: Target) -> paramiko.Transport:
        key = load_key(Path(target.key_path) if target.key_path else self._default_key)
        with self._gate(target):
            return connect(target, key, self._deadlines)

    def _gate(self, target: Target) -> threading.BoundedSemaphore:
        with self._lock:
            return self._gates.setdefault((target.address, target.port), threading.BoundedSemaphore(_CONNECTS))

    def _status(self, channel: paramiko.Channel, target: Target, request: Request) -> JobStatus:
        lines, noise = self._ask(channel, target, request)
        check_refusal(lines, place(target))
        for line in lines:
            if status := read_status(line):
                return status
        raise ConnectionLost(f"{place(target)} gave no answer to the request; it said: {_excerpt(noise)}")

    def _ask(self, channel: paramiko.Channel, target: Target, request: Request) -> tuple[list[str], bytes]:
        """Send a request and read all it says: our lines, and everything as it came."""
        out = bytearray()
        with self._lost(target):
            channel.settimeout(self._deadlines.answer)
            channel.sendall(request.wire())
            deadline = time.monotonic() + self._deadlines.answer
            while chunk := channel.recv(_CHUNK):
                out += chunk
                channel.settimeout(max(0.01, deadline - time.monotonic()))
            _read_stderr(channel, out)
        lines = marked_lines(bytes(out), request.mark)
        if not lines and not self._ended_well(channel):
            raise ConnectionLost(f"The connection to {place(target)} ended before the answer.")
        return lines, bytes(out)

    def _read(self, channel: paramiko.Channel, target: Target, request: Request, reader: _Reader) -> bool:
        """Feed one follower on the host to the reader, to its end; True when it was stopped before."""
        with self._lost(target):
            channel.settimeout(self._deadlines.answer)
            channel.sendall(request.wire())
            channel.settimeout(_STOP_INTERVAL)
        begun = time.monotonic()
        while True:
            chunk: bytes | None = None
            with self._lost(target):
                with contextlib.suppress(TimeoutError):
                    chunk = channel.recv(_CHUNK)
                _read_stderr(channel, reader.said)
            if chunk is not None:
                reader.feed(chunk)
            if chunk == b"":
                break
            if reader.has_begun() and (reader.stop() or reader.orphaned()):
                return True
            allowed = self._deadlines.answer + (_FOLLOW_SECONDS if reader.has_begun() else 0)
            if chunk is None and time.monotonic() - begun > allowed:
                raise ConnectionLost(f"{place(target)} gave no answer in time.")
        # A cut connection looks like the end of the stream; only the follower's own exit tells that all has been said.
        if not (self._ended_well(channel) and reader.has_begun()):
            raise ConnectionLost(f"The connection to {place(target)} ended while the output was read.")
        return False

    def _ended_well(self, channel: paramiko.Channel) -> bool:
        """Whether the request's shell said how it exited; a lost connection or a signal gives -1."""
        return channel.status_event.wait(self._deadlines.answer) and channel.recv_exit_status() >= 0

    @contextlib.contextmanager
    def _lost(self, target: Target) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise ConnectionLost(f"{place(target)} gave no answer in time.") from error
        except _FAULTS as error:
            raise ConnectionLost(f"The connection to {place(target)} ended: {error}.") from error


@dataclass(slots=True)
class _Reader:
    """Takes a follower's streams apart: our lines and the job's bytes on one, the state in the end on the other."""

    offset: int
    on_bytes: Callable[[bytes], None]
    stop: Callable[[], bool]
    said: bytearray = field(default_factory=bytearray)
    _mark: str = ""
    _before: bytearray = field(default_factory=bytearray)
    _first: JobStatus | None = None
    _known: JobState | None = None

    def begin(self, mark: str) -> None:
        """Another follower begins, whose lines carry ``mark``."""
        self.said.clear()
        self._before.clear()
        self._mark, self._first = mark, None

    def feed(self, chunk: bytes) -> None:
        """Hand on the job's bytes, without what a login script printed before our lines."""
        if self._first is None:
            self._before += chunk
            head, found, chunk = bytes(self._before).partition(f"NOMOS1 {self._mark} begin\n".encode())
            if not found:
                return
            self._first = self._states(head)[-1]
            self._known = self._known or self._first.state
        if self._first.state is JobState.EXITED:
            # A process that the job left behind may have written on after the recorded end.
            chunk = chunk[: max(0, self._first.size - self.offset)]
        if chunk:
            self.offset += len(chunk)
            self.on_bytes(chunk)

    def has_begun(self) -> bool:
        """Whether the follower said how the job was."""
        return self._first is not None

    def orphaned(self) -> bool:
        """Whether the job became orphaned between an earlier follower and this one.

        The earlier one may have taken the supervisor for living: its files are closed a moment before it is gone.
        """
        return self._first is not None and self._first.state is JobState.ORPHANED and self._known != self._first.state

    def states(self) -> tuple[JobStatus, JobStatus]:
        """How the job was when the follower began, and when it ended; the first again while it has not."""
        assert self._first is not None
        return self._first, (self._states(bytes(self.said)) or [self._first])[-1]

    def _states(self, lines: bytes) -> list[JobStatus]:
        found = (read_status(line) for line in marked_lines(lines, self._mark))
        return [status for status in found if status is not None]


def _read_stderr(channel: paramiko.Channel, into: bytearray) -> None:
    while channel.recv_stderr_ready():
        into += channel.recv_stderr(_CHUNK)


def _excerpt(noise: bytes) -> str:
    return noise.decode(errors="replace").strip()[:200] or "nothing"
