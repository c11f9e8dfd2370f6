"""Signs of life of a worker, and what it does for all leases it holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from nomos.clock import Moment
from nomos.store import executions, journal, sessions, workers
from nomos.store.engine import Store
from nomos.store.executions import ExecutionClaim

FORGET_AFTER = 3600.0  # seconds without a sign of life
GROWTH_KEPT = timedelta(minutes=10)
JOURNAL_KEPT = timedelta(days=7)


def beat(
    store: Store, owner: str, moment: Moment, lease: float, model: str, following: Sequence[ExecutionClaim]
) -> None:
    """Leave a sign of life and prolong the leases of the executions that this worker follows."""
    with store.write(moment.now) as tx:
        workers.beat(tx, owner, moment, model)
        executions.renew(tx, following, moment, lease)


def note_model(store: Store, owner: str, moment: Moment, *, fault: str | None) -> None:
    """Note how the model service was found: ``fault`` in words, None if it answered."""
    with store.write(moment.now) as tx:
        workers.set_model_state(tx, owner, "ok" if fault is None else "away", fault)


def leave(store: Store, owner: str, moment: Moment) -> None:
    """An orderly end: give all claims back, so that another worker need not wait for the leases."""
    with store.write(moment.now) as tx:
        sessions.release_all(tx, owner)
        executions.release_all(tx, owner)
        workers.leave(tx, owner)


def keep_house(store: Store, moment: Moment) -> None:
    """Drop what nobody needs any more from journal and signs of life."""
    with store.write(moment.now) as tx:
        journal.prune_growth(tx, moment.now - GROWTH_KEPT)
        journal.prune_all(tx, moment.now - JOURNAL_KEPT)
        workers.sweep(tx, moment, FORGET_AFTER)
