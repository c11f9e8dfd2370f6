"""Lines that the operator typed for commands that ask."""

from __future__ import annotations

import uuid

from sqlalchemy import select, update

from nomos.domain.audit import Deed
from nomos.store.rows import executions, inputs
from nomos.store.transaction import Tx


def add(tx: Tx, execution_id: str, text: str, *, by: str, secret: bool) -> None:
    """Store a line to be sent. The audit has its bytes, but not those of a secret."""
    tx.c.execute(
        inputs.insert().values(
            id=str(uuid.uuid4()), execution_id=execution_id, text=text, secret=secret, by=by, at=tx.at
        )
    )
    session_id = select(executions.c.session_id).where(executions.c.id == execution_id)
    tx.audit(
        Deed.INPUT_GIVEN,
        {"execution": execution_id, "by": by, "text": None if secret else text, "secret": secret},
        session_id=tx.c.execute(session_id).scalar_one(),
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
