"""Lines that the operator typed for commands that ask."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection, func, select, update

from nomos.store.rows import inputs
from nomos.store.transaction import Tx


def add(tx: Tx, execution_id: str, text: str, *, by: str, secret: bool) -> None:
    """Store a line to be sent."""
    tx.c.execute(
        inputs.insert().values(
            id=str(uuid.uuid4()), execution_id=execution_id, text=text, secret=secret, by=by, at=tx.at
        )
    )


def waiting(c: Connection, execution_id: str) -> bool:
    """Whether a line waits to be sent."""
    statement = select(func.count()).select_from(inputs)
    return (
        c.execute(statement.where(inputs.c.execution_id == execution_id, inputs.c.sent_at.is_(None))).scalar_one() > 0
    )


def take(tx: Tx, execution_id: str) -> str | None:
    """The oldest line not sent yet, now marked as sent; a secret one is blanked."""
    row = tx.c.execute(
        select(inputs)
        .where(inputs.c.execution_id == execution_id, inputs.c.sent_at.is_(None))
        .order_by(inputs.c.at)
        .limit(1)
    ).one_or_none()
    if row is None:
        return None
    values = {"sent_at": tx.at, **({"text": ""} if row.secret else {})}
    tx.c.execute(update(inputs).where(inputs.c.id == row.id).values(**values))
    return str(row.text)
