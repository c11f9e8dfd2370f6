"""What operators have asked of executions that run: their end, or that a line of input is handed over."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, select

from nomos.domain.executions import State
from nomos.store.rows import executions, inputs


@dataclass(frozen=True, slots=True)
class Orders:
    """``end``: executions that are to end. ``input``: those that a line waits for. By id, as of one moment."""

    end: frozenset[str] = frozenset()
    input: frozenset[str] = frozenset()


def read(c: Connection) -> Orders:
    """All open orders, in two looks however many executions run."""
    stopping = select(executions.c.id).where(
        executions.c.state.in_([State.STARTING, State.RUNNING]), executions.c.cancel_requested_at.is_not(None)
    )
    given = select(inputs.c.execution_id).where(inputs.c.sent_at.is_(None))
    return Orders(frozenset(c.execute(stopping).scalars()), frozenset(c.execute(given).scalars()))
