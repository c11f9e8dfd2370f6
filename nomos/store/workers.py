"""Signs of life of the worker processes, and how the model service was found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select, union, update

from nomos.clock import Moment
from nomos.store.rows import executions, sessions, workers
from nomos.store.transaction import Tx


@dataclass(frozen=True, slots=True)
class Sign:
    """The latest sign of life. ``age`` in seconds. ``model_state``: ok, or away with ``model_detail`` in words."""

    age: float
    seen_at: datetime
    model: str
    model_state: str
    model_detail: str | None


def beat(tx: Tx, owner: str, moment: Moment, model: str) -> None:
    """Leave a sign of life."""
    values = {"seen_ticks": moment.ticks, "seen_boot": moment.boot, "seen_at": tx.at, "model": model}
    if tx.c.execute(update(workers).where(workers.c.owner == owner).values(**values)).rowcount == 0:
        tx.c.execute(workers.insert().values(owner=owner, model_state="ok", **values))


def set_model_state(tx: Tx, owner: str, state: str, detail: str | None) -> None:
    """Note how the model service was found at the last call."""
    tx.c.execute(update(workers).where(workers.c.owner == owner).values(model_state=state, model_detail=detail))


def leave(tx: Tx, owner: str) -> None:
    """An orderly end."""
    tx.c.execute(delete(workers).where(workers.c.owner == owner))


def owners(c: Connection) -> tuple[str, ...]:
    """Every worker that has left a sign of life or holds a claim."""
    names = union(
        select(workers.c.owner),
        select(sessions.c.claim_owner).where(sessions.c.claim_owner.is_not(None)),
        select(executions.c.claim_owner).where(executions.c.claim_owner.is_not(None)),
    )
    return tuple(c.execute(names).scalars())


def sweep(tx: Tx, moment: Moment, older_than: float) -> None:
    """Forget workers that have left no sign for so many seconds."""
    tx.c.execute(
        delete(workers).where((workers.c.seen_boot != moment.boot) | (workers.c.seen_ticks < moment.ticks - older_than))
    )


def latest(c: Connection, moment: Moment) -> Sign | None:
    """The newest sign of life of any worker in this boot; None where there is none."""
    row = c.execute(
        select(workers).where(workers.c.seen_boot == moment.boot).order_by(workers.c.seen_ticks.desc()).limit(1)
    ).one_or_none()
    if row is None:
        return None
    return Sign(max(0.0, moment.ticks - row.seen_ticks), row.seen_at, row.model, row.model_state, row.model_detail)
