"""Hosts: add, trust, note what a look at them found, remove."""

from __future__ import annotations

from datetime import datetime

from nomos.domain.hosts import Host, HostState, check_name, parse_address
from nomos.errors import Conflict, InvalidInput
from nomos.store import hosts
from nomos.store.engine import Store


def add(
    store: Store, name: str, address: str, now: datetime, *, key_path: str | None = None, practice: bool = False,
    interpreter: str | None = None,
) -> Host:  # fmt: skip
    """Add ``USER@ADDRESS[:PORT]`` to the inventory. It is not used before its key is trusted.

    :raises InvalidInput: name or address cannot be used. :raises Conflict: the name is taken.
    """
    user, where, port = parse_address(address)
    with store.write(now) as tx:
        return hosts.add(
            tx, name=check_name(name), address=where, port=port, user=user, key_path=key_path, practice=practice,
            interpreter=interpreter,
        )  # fmt: skip


def request_test(store: Store, host_id: str, now: datetime) -> Host:
    """Ask the worker to look at a host: which key it shows and, if that is trusted, whether it can be used."""
    with store.write(now) as tx:
        hosts.get(tx.c, host_id)
        return hosts.change(tx, host_id, test_requested=True)


def offer_key(store: Store, host_id: str, key: str, fingerprint: str, now: datetime) -> Host:
    """Note the key that the host shows, for the operator to compare. It is not trusted by that."""
    with store.write(now) as tx:
        hosts.get(tx.c, host_id)
        return hosts.change(tx, host_id, offered_key=key, offered_fingerprint=fingerprint, checked_at=now)


def trust(store: Store, host_id: str, fingerprint: str, now: datetime) -> Host:
    """Trust the key that the host showed, if its fingerprint is the one the operator names.

    :raises Conflict: the host showed another key or none. :raises InvalidInput: that is no fingerprint.
    """
    if not fingerprint.startswith("SHA256:"):
        raise InvalidInput("fingerprint: must begin with SHA256:. Nothing was trusted.", field="fingerprint")
    with store.write(now) as tx:
        host = hosts.get(tx.c, host_id)
        offered = hosts.offered_key(tx.c, host_id)
        if offered is None:
            raise Conflict(f"{host.name} has not shown a key yet: test it first. Nothing was trusted.")
        if offered[1] != fingerprint:
            raise Conflict(
                f"{host.name} showed {offered[1]}, not {fingerprint}. Nothing was trusted. "
                "If you did not expect this, somebody may stand between."
            )
        return hosts.change(
            tx, host_id, host_key=offered[0], fingerprint=fingerprint, offered_key=None,
            offered_fingerprint=None, state=HostState.UNTESTED, detail=None, test_requested=True,
        )  # fmt: skip


def note_facts(
    store: Store, host_id: str, now: datetime, *, boot: str, job_base: str, system: str, latency_ms: float
) -> Host:
    """The host was reached and can be used. The folder for jobs, once known, stays."""
    with store.write(now) as tx:
        host = hosts.lock(tx, host_id)
        return hosts.change(
            tx, host_id, state=HostState.REACHABLE, boot=boot, job_base=host.job_base or job_base, system=system,
            latency_ms=round(latency_ms, 1), detail=None, checked_at=now, test_requested=False,
        )  # fmt: skip


def note_fault(store: Store, host_id: str, state: HostState, detail: str, now: datetime) -> Host:
    """The host could not be used; why, in words."""
    with store.write(now) as tx:
        host = hosts.lock(tx, host_id)
        if host.state is state and host.detail == detail and not host.testing:
            return host
        if state is HostState.UNTRUSTED and host.host_key is not None:
            return host  # the operator trusted its key during that look; the next one, asked for by it, is to come
        return hosts.change(tx, host_id, state=state, detail=detail, checked_at=now, test_requested=False)


def remove(store: Store, host_id: str, now: datetime) -> None:
    """Take a host out of the inventory.

    :raises NotFound: there is none.
    """
    with store.write(now) as tx:
        hosts.remove(tx, host_id)


def place_practice_host(
    store: Store, name: str, address: str, port: int, user: str, key: str, fingerprint: str, now: datetime
) -> Host:
    """Put the practice host into the inventory, trusted, or bring its entry up to date."""
    with store.write(now) as tx:
        host = hosts.by_name(tx.c, name)
        if host is None:
            host = hosts.add(tx, name=name, address=address, port=port, user=user, practice=True)
        if not host.practice:
            raise Conflict(f"There is a real host called {name}; the practice host was not added.")
        return hosts.change(
            tx, host.id, address=address, port=port, user=user, host_key=key, fingerprint=fingerprint,
            state=HostState.UNTESTED if host.state is HostState.UNTRUSTED else host.state,
        )  # fmt: skip
