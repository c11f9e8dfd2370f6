"""Looks at hosts that somebody asked to test, each in a thread of its own."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

from nomos.actions import hosts as actions
from nomos.clock import Clock
from nomos.domain.hosts import Host, HostState
from nomos.errors import HostFault, HostKeyChanged, HostKeyUnknown, NotFound, StoreUnavailable
from nomos.ssh.base import Shell
from nomos.store import hosts
from nomos.store.engine import Store
from nomos.worker.executions import target

log = logging.getLogger(__name__)


def look(store: Store, clock: Clock, shell: Shell, host: Host) -> Host:
    """Note which key a host shows and, where its key is trusted, whether Nomos can work there.

    Returns the host as it is known afterwards; what went wrong stands in its ``detail``.
    """
    try:
        if host.host_key is None:
            key = shell.scan(target(host))
            actions.offer_key(store, host.id, key.line, key.fingerprint, clock.now())
            return actions.note_fault(
                store, host.id, HostState.UNTRUSTED, "Compare the fingerprint, then trust it.", clock.now()
            )
        facts = shell.probe(target(host))
    except HostKeyChanged as fault:
        key = shell.scan(target(host))
        actions.offer_key(store, host.id, key.line, key.fingerprint, clock.now())
        return actions.note_fault(store, host.id, HostState.KEY_CHANGED, fault.detail, clock.now())
    except HostFault as fault:
        state = HostState.UNTRUSTED if isinstance(fault, HostKeyUnknown) or host.host_key is None else None
        return actions.note_fault(store, host.id, state or HostState.UNREACHABLE, fault.detail, clock.now())
    return actions.note_facts(
        store, host.id, clock.now(), boot=facts.boot, job_base=facts.job_base, system=facts.system,
        latency_ms=facts.latency_ms,
    )  # fmt: skip


class HostTests:
    """Carries out the tests that were asked for."""

    def __init__(self, store: Store, clock: Clock, shell: Shell) -> None:
        self._store = store
        self._clock = clock
        self._shell = shell
        self._lock = threading.Lock()
        self._under_way: set[str] = set()
        self._pool = ThreadPoolExecutor(4, thread_name_prefix="host-test")

    def tick(self) -> None:
        """Begin every test that is asked for and not under way here."""
        with self._store.read() as connection:
            wanted = hosts.to_test(connection)
        for host in wanted:
            with self._lock:
                if host.id in self._under_way:
                    continue
                self._under_way.add(host.id)
            self._pool.submit(self._look, host)

    def close(self) -> None:
        """Begin no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _look(self, host: Host) -> None:
        try:
            look(self._store, self._clock, self._shell, host)
        except HostFault as fault:
            actions.note_fault(self._store, host.id, HostState.UNREACHABLE, fault.detail, self._clock.now())
        except NotFound:
            pass  # removed meanwhile
        except StoreUnavailable as error:
            log.warning("the test of %s begins anew: %s", host.name, error.detail)
        finally:
            with self._lock:
                self._under_way.discard(host.id)
