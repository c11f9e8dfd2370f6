"""Keeps the claim of a running turn alive, and hears the operator's Stop."""

from __future__ import annotations

import contextlib
import threading
import time
from types import TracebackType

from nomos.actions import turns
from nomos.clock import Clock
from nomos.errors import ClaimLost, StoreUnavailable
from nomos.store import sessions
from nomos.store.engine import Store
from nomos.store.hints import Wakeup
from nomos.store.sessions import Claim


class Heart:
    """A thread beside one turn. ``stopped``: the operator pressed Stop; ``lost``: another worker took the turn."""

    def __init__(self, store: Store, clock: Clock, wakeup: Wakeup, claim: Claim, lease: float) -> None:
        self._store = store
        self._clock = clock
        self._wakeup = wakeup
        self._claim = claim
        self._lease = lease
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heart-{claim.session_id[:8]}", daemon=True)
        self.stopped = False
        self.lost = False

    def __enter__(self) -> Heart:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._wakeup.set()
        self._thread.join()

    @property
    def out(self) -> bool:
        """Whether the turn has to end now."""
        return self.stopped or self.lost

    def check(self) -> None:
        """:raises ClaimLost: another worker took the turn."""
        if self.lost:
            raise ClaimLost

    def _run(self) -> None:
        beaten = time.monotonic()
        seen = self._wakeup.count
        while not self._ended.is_set():
            seen = self._wakeup.wait(seen, 1.0)
            if self._ended.is_set():
                return
            # A database that cannot be used now is asked again: every write of the turn checks its claim by itself.
            with contextlib.suppress(StoreUnavailable):
                with self._store.read() as connection:
                    self.stopped = sessions.work(connection, self._claim.session_id).stop_requested
                if time.monotonic() - beaten >= self._lease / 3:
                    try:
                        turns.beat(self._store, self._claim, self._clock.moment(), self._lease)
                    except ClaimLost:
                        self.lost = True
                        return
                    beaten = time.monotonic()
