"""Sessions: one conversation, and the one word for how it stands."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SessionState(StrEnum):
    """How a session stands: the same word in list, page, favicon and API."""

    IDLE = "idle"
    WORKING = "working"
    WAITING = "waiting"  # for the operator
    PARKED = "parked"  # results are in, the window is over
    DONE = "done"  # goal verified
    BLOCKED = "blocked"
    FAILED = "failed"
    STOPPED = "stopped"


class Ending(StrEnum):
    """How the last turn ended; what a session falls back to when nothing moves and nothing waits."""

    NONE = "none"
    TALK = "talk"
    VERIFIED = "verified"
    BLOCKED = "blocked"
    FAILED = "failed"
    STOPPED = "stopped"
    PARKED = "parked"


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation."""

    id: str
    title: str
    state: SessionState
    created_at: datetime
    updated_at: datetime
    archived: bool = False


_AT_REST = {
    Ending.NONE: SessionState.IDLE,
    Ending.TALK: SessionState.IDLE,
    Ending.VERIFIED: SessionState.DONE,
    Ending.BLOCKED: SessionState.BLOCKED,
    Ending.FAILED: SessionState.FAILED,
    Ending.STOPPED: SessionState.STOPPED,
    Ending.PARKED: SessionState.PARKED,
}


def session_state(*, turn_open: bool, due: bool, under_way: int, pending: int, ending: Ending) -> SessionState:
    """The one word for a session.

    :param turn_open: a turn runs. :param due: one will run by itself. :param under_way: executions not ended.
    :param pending: approvals not decided. A question outranks work: it is what the operator must see.
    """
    if pending:
        return SessionState.WAITING
    if ending is Ending.PARKED and not turn_open:
        return SessionState.PARKED
    if turn_open or due or under_way:
        return SessionState.WORKING
    return _AT_REST[ending]
