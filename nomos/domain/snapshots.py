"""A session as one value: what a page is drawn from, and what a client must arrive at by events alone."""

from __future__ import annotations

from dataclasses import dataclass

from nomos.domain.approvals import Approval
from nomos.domain.executions import Execution
from nomos.domain.messages import Message
from nomos.domain.plans import Plan
from nomos.domain.sessions import Session
from nomos.domain.windows import Window


@dataclass(frozen=True, slots=True)
class Output:
    """The stored output of one execution from byte ``offset`` on, as text."""

    execution_id: str
    offset: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class SessionSnapshot:
    """All of a session at one ``seq`` of the journal. ``outputs`` holds the tail of each execution's output.

    ``plans`` are those that the messages here propose, oldest first; ``plan`` is the session's latest.
    """

    session: Session
    messages: tuple[Message, ...]
    executions: tuple[Execution, ...]
    approvals: tuple[Approval, ...]
    plan: Plan | None
    window: Window | None
    outputs: tuple[Output, ...]
    seq: int
    older: bool = False
    plans: tuple[Plan, ...] = ()
