"""The journal: every change, in commit order. ``seq`` comes from a locked head row taken last in the transaction.

A plain autoincrement would lose rows to a tailing reader on PostgreSQL: it is taken before the commit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from nomos.domain import shapes
from nomos.domain.events import GROWING, Entry, Type
from nomos.domain.executions import ENDED as EXECUTION_ENDED
from nomos.domain.messages import OPEN
from nomos.store import approvals, executions, hosts, messages, plans, sessions, windows
from nomos.store.rows import blocks, journal, journal_head
from nomos.store.rows import executions as execution_rows
from nomos.store.rows import messages as message_rows
from nomos.store.transaction import AnyRow, Record, Tx


@dataclass(frozen=True, slots=True)
class Head:
    """Where the journal stands: its ``epoch``, the last ``seq``, and the lowest cursor that can be resumed from."""

    epoch: str
    seq: int
    floor: int


def _session(tx: Tx, about: str) -> Record:
    value = sessions.get(tx.c, about)
    return Record(Type.SESSION_CHANGED, about, value.id, None, shapes.session(value))


def _message(tx: Tx, about: str) -> Record:
    value = messages.get(tx.c, about)
    return Record(Type.MESSAGE_CHANGED, about, value.session_id, None, shapes.message(value))


def _block(tx: Tx, about: str) -> Record:
    value = messages.get_block(tx.c, about)
    message = messages.get(tx.c, value.message_id)
    return Record(Type.BLOCK_CHANGED, about, message.session_id, None, shapes.block(value))


def _execution(tx: Tx, about: str) -> Record:
    value = executions.get(tx.c, about)
    return Record(Type.EXECUTION_CHANGED, about, value.session_id, value.host, shapes.execution(value))


def _approval(tx: Tx, about: str) -> Record:
    value = approvals.get(tx.c, about)
    return Record(Type.APPROVAL_CHANGED, about, value.session_id, value.host, shapes.approval(value))


def _plan(tx: Tx, about: str) -> Record:
    value = plans.get(tx.c, about)
    return Record(Type.PLAN_CHANGED, about, value.session_id, None, shapes.plan(value))


def _window(tx: Tx, about: str) -> Record:
    value = windows.latest(tx.c, about)
    return Record(Type.WINDOW_CHANGED, about, about, None, shapes.window(value, tx.at))


def _host(tx: Tx, about: str) -> Record:
    value = hosts.get(tx.c, about)
    return Record(Type.HOST_CHANGED, about, None, value.name, shapes.host(value))


_PRESENT: dict[Type, Callable[[Tx, str], Record]] = {
    Type.SESSION_CHANGED: _session,
    Type.MESSAGE_CHANGED: _message,
    Type.BLOCK_CHANGED: _block,
    Type.EXECUTION_CHANGED: _execution,
    Type.APPROVAL_CHANGED: _approval,
    Type.PLAN_CHANGED: _plan,
    Type.WINDOW_CHANGED: _window,
    Type.HOST_CHANGED: _host,
}


def flush(tx: Tx) -> int:
    """Write the entries of a transaction, as its last statements. Returns how many there were."""
    for session_id in list(tx.sessions):
        sessions.refresh_state(tx, session_id)
    records = [
        record if record.data is not None else _PRESENT[record.type](tx, record.about) for record in tx.records.values()
    ]
    if not records:
        return 0
    last = tx.c.execute(
        update(journal_head).values(seq=journal_head.c.seq + len(records)).returning(journal_head.c.seq)
    ).scalar_one()
    first = last - len(records) + 1
    tx.c.execute(
        journal.insert(),
        [
            {
                "seq": first + index,
                "type": record.type,
                "about": record.about,
                "session_id": record.session_id,
                "host": record.host,
                "at": tx.at,
                "data": record.data,
            }
            for index, record in enumerate(records)
        ],
    )
    return len(records)


def head(c: Connection) -> Head:
    """Where the journal stands."""
    row = c.execute(select(journal_head)).one()
    return Head(row.epoch, row.seq, row.floor)


def _entry(row: AnyRow) -> Entry:
    return Entry(row.seq, Type(row.type), row.about, row.session_id, row.host, row.at, row.data)


def after(
    c: Connection, seq: int, limit: int, *, until: int | None = None, session_id: str | None = None
) -> tuple[Entry, ...]:
    """Entries with a higher number, in order, ``limit`` at most; ``until`` and ``session_id`` narrow them."""
    statement = select(journal).where(journal.c.seq > seq)
    if until is not None:
        statement = statement.where(journal.c.seq <= until)
    if session_id is not None:
        statement = statement.where(journal.c.session_id == session_id)
    return tuple(_entry(row) for row in c.execute(statement.order_by(journal.c.seq).limit(limit)))


def prune_growth(tx: Tx, older_than: datetime) -> int:
    """Drop pieces of text and output whose message or execution has ended and that are older than a time.

    What they grew into stands in the store; a reader whose cursor lies behind is told to read that (the floor rises).
    """
    ended_blocks = (
        select(blocks.c.id).join(message_rows, message_rows.c.id == blocks.c.message_id)
        .where(message_rows.c.status.not_in(OPEN))
    )  # fmt: skip
    taken_back = (journal.c.type == Type.MESSAGE_DELTA) & journal.c.about.not_in(select(blocks.c.id))
    ended_executions = select(execution_rows.c.id).where(execution_rows.c.state.in_(EXECUTION_ENDED))
    doomed = (
        journal.c.type.in_(GROWING)
        & (journal.c.at < older_than)
        & (journal.c.about.in_(ended_blocks) | journal.c.about.in_(ended_executions) | taken_back)
    )
    return _drop(tx, doomed)


def prune_all(tx: Tx, older_than: datetime) -> int:
    """Drop every entry older than a time."""
    return _drop(tx, journal.c.at < older_than)


def _drop(tx: Tx, doomed: Any) -> int:
    highest = tx.c.execute(select(func.max(journal.c.seq)).where(doomed)).scalar_one()
    if highest is None:
        return 0
    # Meanwhile more may have become doomed: what lies above the new floor must not go.
    gone = tx.c.execute(delete(journal).where(doomed, journal.c.seq <= highest)).rowcount
    tx.c.execute(update(journal_head).where(journal_head.c.floor < highest).values(floor=highest))
    return int(gone)
