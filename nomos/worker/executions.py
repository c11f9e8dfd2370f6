"""Starts queued executions on their hosts, follows them to their end, and finds them again."""

from __future__ import annotations

import contextlib
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from nomos.actions import executions as actions
from nomos.actions import hosts as host_actions
from nomos.actions.growth import Gatherer
from nomos.clock import Clock
from nomos.domain.executions import Execution, Risk, State
from nomos.domain.hosts import Host, HostState
from nomos.errors import (
    ClaimLost,
    ConnectionLost,
    HostFault,
    HostKeyChanged,
    HostKeyUnknown,
    HostRefused,
    HostUnusable,
    StoreUnavailable,
)
from nomos.ssh.base import JobState, JobStatus, Limits, Shell, Target
from nomos.store import executions, hosts
from nomos.store.engine import Store
from nomos.store.executions import ExecutionClaim
from nomos.worker.guard import Guards, LockedOut
from nomos.worker.pump import Pump
from nomos.worker.watch import KILL_AFTER, OrderBook, Watch

log = logging.getLogger(__name__)

MOST_AT_ONCE = 64  # executions that one worker follows
LONGEST_BACK_OFF = 60.0
ORPHANED = "its supervisor on the host was killed: the command goes on, but its exit code will not be known"


def target(host: Host) -> Target:
    """Where and as whom to connect to a host of the inventory."""
    return Target(
        name=host.name,
        address=host.address,
        port=host.port,
        user=host.user,
        key_path=host.key_path,
        host_key=host.host_key,
        interpreter=host.interpreter,
        job_base=host.job_base,
    )


class Executions:
    """Claims executions and carries them on, each in a thread of its own."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        shell: Shell,
        gatherer: Gatherer,
        owner: str,
        lease: float,
        timeout: int,
        silence: int,
        kill_after: float = KILL_AFTER,
        guards: Guards | None = None,
    ) -> None:
        """:param kill_after: seconds from TERM to KILL when an execution is cancelled."""
        self._guards = Guards(shell) if guards is None else guards
        self._store = store
        self._clock = clock
        self._shell = shell
        self._gatherer = gatherer
        self._owner = owner
        self._lease = lease
        self._limits = Limits(timeout=timeout)
        self._silence = silence
        self._kill_after = kill_after
        self._book = OrderBook(store, clock)
        self._lock = threading.Lock()
        self._following: dict[ExecutionClaim, float] = {}
        self._faults: dict[str, int] = {}
        self._closing = False
        self._pool = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="execution")

    @property
    def following(self) -> tuple[ExecutionClaim, ...]:
        """The claims that this worker holds now."""
        with self._lock:
            return tuple(self._following)

    def tick(self) -> None:
        """Take every execution that needs a worker, as far as there is room."""
        while not self._closing and len(self.following) < MOST_AT_ONCE:
            taken = actions.claim_next(self._store, self._owner, self._clock.moment(), self._lease)
            if taken is None:
                return
            claim, execution = taken
            with self._lock:
                self._following[claim] = self._clock.ticks()
            self._pool.submit(self._carry_on, claim, execution)

    def close(self) -> None:
        """Follow no more. The jobs go on on their hosts."""
        self._closing = True
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _carry_on(self, claim: ExecutionClaim, execution: Execution) -> None:
        try:
            self._step(claim, execution)
        except ClaimLost:
            pass  # whoever took it carries it on
        except StoreUnavailable as error:
            log.warning("execution %s is taken up again once its lease is over: %s", execution.id, error.detail)
        except Exception:
            log.exception("execution %s on %s: unexpected fault; it is taken up again", execution.id, execution.host)
            why = "Nomos met a fault of its own; trying again"
            with contextlib.suppress(ClaimLost, StoreUnavailable):
                actions.put_off(self._store, claim, self._clock.moment(), 5.0, why)
        finally:
            with self._lock:
                self._following.pop(claim, None)

    def _step(self, claim: ExecutionClaim, execution: Execution) -> None:
        """Carry one execution on until it has ended or its host cannot be asked."""
        with self._store.read() as connection:
            host = hosts.by_name(connection, execution.host)
        if host is None:
            self._lose(claim, execution, f"{execution.host} is no longer in the inventory")
            return
        try:
            if execution.state is State.QUEUED and execution.cancel_requested_at is not None:
                actions.finish(self._store, claim, State.CANCELLED, self._clock.now(), detail="never started")
                return
            if execution.state in {State.QUEUED, State.STARTING}:
                host = self._look(host)
                started = self._start(claim, execution, host)
            else:
                started = host, self._shell.status(target(host), execution.id)
            if started is not None:
                self._follow(claim, execution, *started)
            self._faults.pop(execution.id, None)
        except HostFault as fault:
            self._host_failed(claim, host, fault)

    def _look(self, host: Host) -> Host:
        """Find out the host's boot identity, and pin the folder for jobs if that has not been done."""
        facts = self._shell.probe(target(host), fresh=False)
        if (host.state, host.boot, host.job_base) == (HostState.REACHABLE, facts.boot, facts.job_base):
            return host
        return host_actions.note_facts(
            self._store, host.id, self._clock.now(), boot=facts.boot, job_base=facts.job_base, system=facts.system,
            latency_ms=facts.latency_ms,
        )  # fmt: skip

    def _start(self, claim: ExecutionClaim, execution: Execution, host: Host) -> tuple[Host, JobStatus] | None:
        """Send the job, or find it where it was sent before. The boot identity is stored before anything is sent.

        None: it may not be started, and was withdrawn. The job goes to the host as it was checked, not as it was read.
        """
        place = target(host)
        boot = host.boot or ""
        if execution.state is State.STARTING:
            with self._store.read() as connection:
                sent_in = executions.host_boot(connection, execution.id)
            status = self._shell.status(place, execution.id)
            if status.state is not JobState.MISSING:
                return host, status
            if sent_in != status.boot:
                why = "the host has restarted since, and the job's folder is gone"
                return host, JobStatus(JobState.UNKNOWN, status.boot, why=why)
        danger = self._guards.danger(host, execution)
        guard = None if danger is None or danger.guard is None else danger.guard
        seconds = None if guard is None else self._guards.seconds
        revert = None if guard is None else guard.revert
        checked = actions.begin(
            self._store, claim, boot, self._clock.moment(), guard=revert, guard_seconds=seconds
        )  # fmt: skip
        if checked is None:
            return None
        fault = None if danger is None else self._guards.arm(target(checked), execution.id, danger)
        if fault is not None:
            return checked, JobStatus(JobState.NEVER_STARTED, boot, why=f"Nothing was run: {fault}")
        limits = replace(self._limits, stdin=execution.risk is not Risk.READ)
        return checked, self._shell.start(target(checked), execution.id, execution.command, limits)

    def _follow(self, claim: ExecutionClaim, execution: Execution, host: Host, status: JobStatus) -> None:
        """Hand the output over as it comes, see to cancellation, and store the end."""
        with self._store.read() as connection:
            execution = executions.get(connection, execution.id)
        if execution.state is State.STARTING and status.state not in {JobState.NEVER_STARTED, JobState.UNKNOWN}:
            execution = actions.running(self._store, claim, self._clock.now())
        elif execution.detail is not None and execution.cancel_requested_at is None:
            actions.note(self._store, claim, None, self._clock.now())
        pump = Pump(self._gatherer, claim, execution.host_bytes)
        watch = Watch(
            self._store, self._clock, self._shell, self._book, target(host), claim, pump, self._silence,
            self._kill_after,
        )  # fmt: skip
        while status.state not in {JobState.NEVER_STARTED, JobState.UNKNOWN}:
            if status.state is JobState.MISSING:
                # It ran, or it was about to: nothing may be run again because its traces were removed.
                status = replace(status, state=JobState.UNKNOWN, why="the job's folder on the host is gone")
                break
            if status.state is JobState.ORPHANED and not watch.stopping:
                actions.note(self._store, claim, ORPHANED, self._clock.now())
            status = self._shell.follow(target(host), execution.id, pump.read, pump.take, lambda: self._out(watch))
            if status.state is JobState.EXITED or self._closing or pump.lost:
                break
            watch.act()
        pump.end()
        self._gatherer.flush()
        if pump.lost:
            raise ClaimLost
        if self._closing and status.state not in {JobState.EXITED, JobState.NEVER_STARTED, JobState.UNKNOWN}:
            return
        self._store_end(claim, host, execution.id, status, silent=watch.silent)

    def _out(self, watch: Watch) -> bool:
        return self._closing or watch.due()

    def _store_end(
        self, claim: ExecutionClaim, host: Host, execution_id: str, status: JobStatus, *, silent: bool
    ) -> None:
        with self._store.read() as connection:
            execution = executions.get(connection, execution_id)
        stopping = execution.cancel_requested_at is not None
        undone = self._guards.settle(target(host), execution)
        now = self._clock.now()
        if status.state is JobState.NEVER_STARTED:
            state = State.CANCELLED if stopping else State.UNREACHABLE
            detail: str | None = status.why or "the host gave the job up before its command ran"
        elif status.state is JobState.UNKNOWN:
            state, detail = State.UNKNOWN, status.why
        elif status.timed_out:
            state, detail = State.TIMED_OUT, f"ended after {self._limits.timeout} s of run time"
        elif silent:
            state, detail = State.TIMED_OUT, f"ended after {self._silence} s without output"
        elif stopping and status.exit_code != 0:
            state, detail = State.CANCELLED, "ended by you"
        else:
            state, detail = (State.SUCCEEDED if status.exit_code == 0 else State.FAILED), status.why or None
        if undone is not None:
            detail = f"{detail}. {undone}" if detail else undone
        actions.finish(
            self._store, claim, state, now, exit_code=status.exit_code, detail=detail, truncated=status.truncated
        )

    def _host_failed(self, claim: ExecutionClaim, host: Host, fault: HostFault) -> None:
        """A host could not be asked: nothing is decided about what was started; what was not is given up."""
        self._gatherer.flush()
        if isinstance(fault, HostKeyChanged):
            host_state = HostState.KEY_CHANGED
        elif isinstance(fault, HostKeyUnknown):
            host_state = HostState.UNTRUSTED
        else:
            host_state = HostState.UNREACHABLE
        if not isinstance(fault, ConnectionLost):
            host_actions.note_fault(self._store, host.id, host_state, fault.detail, self._clock.now())
        with self._store.read() as connection:
            execution = executions.get(connection, claim.execution_id)
        if execution.state is State.QUEUED:
            state = State.CANCELLED if execution.cancel_requested_at is not None else State.UNREACHABLE
            actions.finish(self._store, claim, state, self._clock.now(), detail=fault.detail)
            return
        if execution.state is State.STARTING and isinstance(fault, HostUnusable):
            actions.finish(self._store, claim, State.UNREACHABLE, self._clock.now(), detail=fault.detail)
            return
        faults = self._faults[execution.id] = self._faults.get(execution.id, 0) + 1
        if isinstance(fault, LockedOut):
            wait = 2.0  # the host undoes the step soon
        else:
            wait = 1.0 if isinstance(fault, ConnectionLost) and faults == 1 else min(2.0**faults, LONGEST_BACK_OFF)
        lasting = isinstance(fault, HostKeyChanged | HostKeyUnknown | HostRefused | LockedOut)
        why = fault.detail if lasting else f"connection to {host.name} lost"
        detail = f"{why}; asking again in {wait:.0f} s. The command may go on there"
        actions.put_off(self._store, claim, self._clock.moment(), wait, detail)

    def _lose(self, claim: ExecutionClaim, execution: Execution, why: str) -> None:
        state = State.UNREACHABLE if execution.state is State.QUEUED else State.UNKNOWN
        actions.finish(self._store, claim, state, self._clock.now(), detail=why)
