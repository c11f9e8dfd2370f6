"""Executions: one command on one host, with a life of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Risk(StrEnum):
    """What a command may do. Ordered: ``read`` < ``change`` < ``destroy``."""

    READ = "read"
    CHANGE = "change"
    DESTROY = "destroy"

    @property
    def rank(self) -> int:
        """0, 1 or 2."""
        return list(Risk).index(self)


class State(StrEnum):
    """Where an execution stands."""

    WAITING = "waiting"  # for the operator's decision
    QUEUED = "queued"  # allowed; no worker has taken it yet
    STARTING = "starting"  # claimed; it may have been started on the host
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # started or maybe started; its outcome cannot be known
    DENIED = "denied"
    WITHDRAWN = "withdrawn"  # never started: what was allowed is not allowed any more, or is something else now
    UNREACHABLE = "unreachable"  # never started; safe to try again


TRANSITIONS: Mapping[State, frozenset[State]] = {
    State.WAITING: frozenset({State.QUEUED, State.DENIED, State.WITHDRAWN}),
    State.QUEUED: frozenset({State.STARTING, State.CANCELLED, State.UNREACHABLE, State.WITHDRAWN}),
    State.STARTING: frozenset(
        # back to queued, unreachable, cancelled or withdrawn only where the host says that nothing was started
        {State.RUNNING, State.QUEUED, State.UNREACHABLE, State.CANCELLED, State.WITHDRAWN, State.UNKNOWN,
         State.SUCCEEDED, State.FAILED, State.TIMED_OUT}
    ),
    State.RUNNING: frozenset({State.SUCCEEDED, State.FAILED, State.TIMED_OUT, State.CANCELLED, State.UNKNOWN}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.TIMED_OUT: frozenset(),
    State.CANCELLED: frozenset(),
    State.UNKNOWN: frozenset(),
    State.DENIED: frozenset(),
    State.WITHDRAWN: frozenset(),
    State.UNREACHABLE: frozenset(),
}  # fmt: skip

ENDED = frozenset(state for state, after in TRANSITIONS.items() if not after)
UNDER_WAY = frozenset({State.QUEUED, State.STARTING, State.RUNNING})
CONTINUES = frozenset(ENDED - {State.DENIED})  # ends that the agent is told as a result

LONGEST_INPUT = 4095  # bytes of a line of input: with its line break it can be handed over whole or not at all


@dataclass(frozen=True, slots=True)
class Execution:
    """One command on one host.

    ``digest`` binds what was allowed: the host as it was then, the exact command, its risk, the plan's step.
    ``output_bytes`` counts all output that came, ``host_bytes`` how far the job's output on the host was read; of more
    than the cap only head and tail are stored, and the bytes from
    ``omitted_from`` to ``omitted_to`` are not. ``question``: its last line looks like one, and nothing more comes.
    ``parallel``: the plan says that it may run beside other changes on its host. ``continued_at``: when the agent was
    given the result. ``detail`` says in words what is known where the state alone does not ("the host rebooted …").
    ``asked``: what the agent had asked for, where the operator edited the command before approving it.
    ``cancel_requested_at`` is set from Stop on until the host has confirmed the end. ``undo``: the command that undoes
    it, ``undoes``: the execution that this one undoes. ``after_id``: the snapshot that has to succeed before this one
    starts. ``guard_revert``: what the host runs by itself unless Nomos can sign in again within ``guard_seconds``.
    """

    id: str
    session_id: str
    message_id: str
    block_id: str
    host: str
    command: str
    reason: str
    risk: Risk
    risk_why: str
    state: State
    digest: str
    asynchronous: bool
    queued_at: datetime | None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    continued_at: datetime | None = None
    exit_code: int | None = None
    output_bytes: int = 0
    host_bytes: int = 0
    omitted_from: int | None = None
    omitted_to: int | None = None
    truncated: bool = False
    last_output_at: datetime | None = None
    question: str | None = None
    parallel: bool = False
    asked: str | None = None
    approval_id: str | None = None
    plan_id: str | None = None
    detail: str | None = None
    cancel_requested_at: datetime | None = None
    created_at: datetime | None = None
    undo: str | None = None
    undoes: str | None = None
    after_id: str | None = None
    guard_revert: str | None = None
    guard_seconds: int | None = None

    @property
    def seconds(self) -> float | None:
        """Run time, from the start on the host to the end."""
        if self.started_at is None or self.ended_at is None:
            return None
        return max(0.0, (self.ended_at - self.started_at).total_seconds())


def may_become(state: State, after: State) -> bool:
    """Whether the arrow ``state → after`` is drawn."""
    return after in TRANSITIONS[state]
