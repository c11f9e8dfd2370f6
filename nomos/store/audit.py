"""The audit's rows: added at the very end of the transaction that they speak of, never changed, never removed.

Their number and the hash that binds them come from a head row which is locked last, after the journal's: so all
writers make one chain, in the order of their commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from sqlalchemy import Connection, select, update

from nomos.domain.audit import Break, Checker, Entry, link
from nomos.store.rows import audit, audit_head
from nomos.store.transaction import AnyRow, Tx

_AT_ONCE = 500  # rows read at once, so that a long chain is checked in little memory


def flush(tx: Tx) -> None:
    """Write the links of a transaction, as its last statements."""
    if not tx.deeds:
        return
    head = tx.c.execute(select(audit_head).with_for_update()).one()
    seq, hash_ = head.seq, head.hash
    rows = []
    for deed in tx.deeds:
        entry = link(seq + 1, hash_, tx.at, tx.who, deed.deed, deed.facts, deed.session_id)
        seq, hash_ = entry.seq, entry.hash
        rows.append(
            {
                "seq": entry.seq,
                "at": entry.at,
                "deed": entry.deed,
                "session_id": entry.session_id,
                "content": entry.content,
                "previous": entry.previous,
                "hash": entry.hash,
            }
        )
    tx.c.execute(audit.insert(), rows)
    tx.c.execute(update(audit_head).values(seq=seq, hash=hash_))


def head(c: Connection) -> tuple[int, str]:
    """Number and hash of the last link."""
    row = c.execute(select(audit_head)).one()
    return row.seq, row.hash


def _entry(row: AnyRow) -> Entry:
    return Entry(row.seq, row.at, row.deed, row.session_id, row.content, row.previous, row.hash)


def entries(c: Connection, *, since: datetime | None = None, until: datetime | None = None) -> Iterator[Entry]:
    """The links in order, from ``since`` on and before ``until`` if given."""
    statement = select(audit)
    if since is not None:
        statement = statement.where(audit.c.at >= since)
    if until is not None:
        statement = statement.where(audit.c.at < until)
    after: int | None = None
    while True:
        page = statement if after is None else statement.where(audit.c.seq > after)
        rows = c.execute(page.order_by(audit.c.seq).limit(_AT_ONCE)).all()
        if not rows:
            return
        yield from map(_entry, rows)
        after = rows[-1].seq


def verify(c: Connection, *, known: tuple[int, str] | None = None) -> Break | None:
    """Walk the whole chain. The first place where it is broken, None where it holds.

    :param known: number and hash of an end that was noted elsewhere: a chain that was written anew lacks it.
    """
    checker = Checker()
    for entry in entries(c):
        if found := checker.take(entry):
            return found
        if known is not None and entry.seq == known[0] and entry.hash != known[1]:
            return Break(entry.seq, f"entry {entry.seq} is not the one that was known: the chain was written anew")
    if known is not None and known[0] > checker.seq:
        return Break(checker.seq + 1, f"entry {known[0]} was known and is missing")
    return checker.end(*head(c))
