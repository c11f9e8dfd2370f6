"""Executions that stand to another: what undoes it, and the step that waits for a snapshot."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, select

from nomos.domain.executions import Execution
from nomos.store.executions import get
from nomos.store.rows import executions


def that_undo(c: Connection, execution_id: str) -> tuple[Execution, ...]:
    """The executions that undo this one, or were to."""
    return _all(c, select(executions.c.id).where(executions.c.undoes == execution_id))


def behind(c: Connection, snapshot_id: str) -> Execution | None:
    """The execution that waits for this snapshot."""
    return next(iter(_all(c, select(executions.c.id).where(executions.c.after_id == snapshot_id))), None)


def with_snapshots(c: Connection, plan_id: str) -> tuple[Execution, ...]:
    """The executions of a plan that a snapshot was asked for."""
    chosen = select(executions.c.id).where(executions.c.plan_id == plan_id, executions.c.after_id.is_not(None))
    return _all(c, chosen)


def _all(c: Connection, chosen: Select[Any]) -> tuple[Execution, ...]:
    return tuple(get(c, row.id) for row in c.execute(chosen.order_by(executions.c.created_at)).all())
