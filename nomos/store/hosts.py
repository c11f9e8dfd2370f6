"""The inventory."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection, delete, select, update
from sqlalchemy.exc import IntegrityError

from nomos.domain import deeds
from nomos.domain.audit import Deed
from nomos.domain.events import Type
from nomos.domain.hosts import Host, HostState
from nomos.errors import Conflict, NotFound
from nomos.store.rows import hosts
from nomos.store.transaction import AnyRow, Tx


def _value(row: AnyRow) -> Host:
    return Host(
        id=row.id,
        name=row.name,
        address=row.address,
        port=row.port,
        user=row.user,
        state=HostState(row.state),
        created_at=row.created_at,
        key_path=row.key_path,
        host_key=row.host_key,
        fingerprint=row.fingerprint,
        offered_fingerprint=row.offered_fingerprint,
        job_base=row.job_base,
        boot=row.boot,
        system=row.system,
        latency_ms=row.latency_ms,
        detail=row.detail,
        checked_at=row.checked_at,
        testing=row.test_requested,
        practice=row.practice,
        interpreter=row.interpreter,
    )


def add(
    tx: Tx, *, name: str, address: str, port: int, user: str, key_path: str | None = None, practice: bool = False,
    interpreter: str | None = None,
) -> Host:  # fmt: skip
    """Add a host.

    :raises Conflict: the name is taken.
    """
    host_id = str(uuid.uuid4())
    if tx.c.execute(select(hosts.c.id).where(hosts.c.name == name)).one_or_none() is not None:
        raise Conflict(f"There is already a host called {name}. Nothing was added.")
    try:
        tx.c.execute(
            hosts.insert().values(
                id=host_id,
                name=name,
                address=address,
                port=port,
                user=user,
                key_path=key_path,
                state=HostState.UNTRUSTED,
                practice=practice,
                interpreter=interpreter,
                created_at=tx.at,
            )
        )
    except IntegrityError as error:
        raise Conflict(f"There is already a host called {name}. Nothing was added.") from error
    tx.touch(Type.HOST_CHANGED, host_id)
    host = get(tx.c, host_id)
    tx.audit(Deed.HOST_ADDED, deeds.host(host))
    return host


def get(c: Connection, host_id: str) -> Host:
    """:raises NotFound: there is none."""
    row = c.execute(select(hosts).where(hosts.c.id == host_id)).one_or_none()
    if row is None:
        raise NotFound("There is no such host.")
    return _value(row)


def lock(tx: Tx, host_id: str) -> Host:
    """Take the host's row for this transaction.

    :raises NotFound: there is none.
    """
    tx.c.execute(select(hosts.c.id).where(hosts.c.id == host_id).with_for_update())
    return get(tx.c, host_id)


def by_name(c: Connection, name: str) -> Host | None:
    """The host of this name."""
    row = c.execute(select(hosts).where(hosts.c.name == name)).one_or_none()
    return None if row is None else _value(row)


def offered_key(c: Connection, host_id: str) -> tuple[str, str] | None:
    """The key that the host showed and nobody trusted yet: ``"<type> <base64>"`` and its fingerprint."""
    row = c.execute(select(hosts.c.offered_key, hosts.c.offered_fingerprint).where(hosts.c.id == host_id)).one()
    return None if row.offered_key is None else (row.offered_key, row.offered_fingerprint)


def every(c: Connection) -> tuple[Host, ...]:
    """All hosts, by name."""
    return tuple(_value(row) for row in c.execute(select(hosts).order_by(hosts.c.name)))


def change(tx: Tx, host_id: str, **values: object) -> Host:
    """Set columns of a host and note the change."""
    before = tx.c.execute(select(hosts.c.fingerprint).where(hosts.c.id == host_id)).scalar_one_or_none()
    tx.c.execute(update(hosts).where(hosts.c.id == host_id).values(**values))
    tx.touch(Type.HOST_CHANGED, host_id)
    host = get(tx.c, host_id)
    if host.fingerprint != before:
        tx.audit(Deed.HOST_TRUSTED, deeds.host(host))
    return host


def to_test(c: Connection) -> tuple[Host, ...]:
    """The hosts that somebody asked to test."""
    statement = select(hosts).where(hosts.c.test_requested.is_(True)).order_by(hosts.c.name)
    return tuple(_value(row) for row in c.execute(statement))


def remove(tx: Tx, host_id: str) -> None:
    """Take a host out of the inventory. Its executions stay."""
    host = get(tx.c, host_id)
    tx.c.execute(delete(hosts).where(hosts.c.id == host_id))
    tx.audit(Deed.HOST_REMOVED, deeds.host(host))
    gone = {"id": host_id, "name": host.name, "removed": True}
    tx.record_removal(Type.HOST_CHANGED, host_id, gone, session_id=None, host=host.name)
