"""The continuation poller: the only thing that starts a turn. Harmless when it ticks twice: it claims first."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from nomos.actions import turns, windows
from nomos.actions.turns import Turn
from nomos.agent.turn import TurnRunner
from nomos.clock import Clock
from nomos.domain.continuations import Limits
from nomos.store.engine import Store


class Continuations:
    """Claims sessions that are due and runs their turns side by side, at most ``workers`` at once."""

    def __init__(
        self, store: Store, clock: Clock, runner: TurnRunner, owner: str, limits: Limits, lease: float, workers: int
    ) -> None:
        self._store = store
        self._clock = clock
        self._runner = runner
        self._owner = owner
        self._limits = limits
        self._lease = lease
        self._free = threading.Semaphore(workers)
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="turn")

    def tick(self) -> None:
        """End the windows that are over, then begin every turn that is due, as far as there is room."""
        windows.close_over(self._store, self._clock.moment())
        while self._free.acquire(blocking=False):
            went_on = False
            try:
                due, turn = turns.claim_due(self._store, self._owner, self._clock.moment(), self._lease, self._limits)
                if turn is not None:
                    self._pool.submit(self._run, turn)
                    went_on = True
            finally:
                if not went_on:
                    self._free.release()
            if not due:
                return

    def _run(self, turn: Turn) -> None:
        try:
            self._runner.run(turn)
        finally:
            self._free.release()

    def close(self) -> None:
        """Begin no more turns. Those that run lose their claims and end."""
        self._pool.shutdown(wait=False, cancel_futures=True)
