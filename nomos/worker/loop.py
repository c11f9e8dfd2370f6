"""Runs the worker: the scheduler, the hints, the signs of life; and ends the process if one of them dies."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC

from apscheduler.schedulers.background import BackgroundScheduler

from nomos.actions import workers
from nomos.actions.growth import Gatherer
from nomos.clock import Clock
from nomos.errors import StoreUnavailable
from nomos.store.engine import Store
from nomos.store.hints import Wakeup
from nomos.worker.continuations import Continuations
from nomos.worker.executions import Executions
from nomos.worker.hosts import HostTests
from nomos.worker.recovery import Recovery

log = logging.getLogger(__name__)

POLL_SECONDS = 1.0
BEAT_SECONDS = 3.0
OVERDUE = 3.0  # seconds without a tick after which the scheduler's clock must have been stepped
HOUSEKEEPING_SECONDS = 60
STORE_AGAIN = 1.0  # seconds until a database that could not be used is tried again


class Worker:
    """One worker process. ``owner`` is new for each start: a name that came back would keep dead claims alive."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        wakeup: Wakeup,
        gatherer: Gatherer,
        continuations: Continuations,
        executions: Executions,
        host_tests: HostTests,
        recovery: Recovery,
        owner: str,
        lease: float,
        model_name: str,
    ) -> None:
        self._store = store
        self._clock = clock
        self._wakeup = wakeup
        self._gatherer = gatherer
        self._continuations = continuations
        self._executions = executions
        self._host_tests = host_tests
        self._recovery = recovery
        self._owner = owner
        self._lease = lease
        self._model_name = model_name
        self._ended = threading.Event()
        self._ticking = threading.Lock()
        self._asked = False
        self._ticked = time.monotonic()
        self._failed = False

    def run(self) -> int:
        """Run until ``stop``. Returns the exit code: 0, or 1 because a part of it died."""
        self._until_stored(self._beat)
        scheduler = self._scheduler()
        scheduler.start()
        threads = [
            self._supervised("growth", self._gatherer.run),
            self._supervised("hints", lambda: self._store.hints.listen(self._wakeup.set, self._ended)),
            self._supervised("wake", self._tick_on_hints),
            self._supervised("beat", self._beat_on),
            self._supervised("watchdog", lambda: self._watch(scheduler)),
        ]
        log.info("worker %s is up", self._owner)
        self._ended.wait()
        scheduler.shutdown(wait=False)
        self._continuations.close()
        self._executions.close()
        self._host_tests.close()
        self._gatherer.close()
        self._wakeup.set()
        for thread in threads:
            thread.join(2.0)
        try:
            workers.leave(self._store, self._owner, self._clock.moment())
        except StoreUnavailable as error:
            log.warning("its claims end with their leases: %s", error.detail)
        log.info("worker %s has left", self._owner)
        return 1 if self._failed else 0

    def stop(self) -> None:
        """End in order: claims are given back, jobs go on on their hosts."""
        self._ended.set()

    def _scheduler(self) -> BackgroundScheduler:
        scheduler = BackgroundScheduler(
            timezone=UTC, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        scheduler.add_job(self._tick, "interval", seconds=POLL_SECONDS, id="poll")
        scheduler.add_job(
            self._keep_house,
            "interval",
            seconds=HOUSEKEEPING_SECONDS,
            id="housekeeping",
        )
        return scheduler

    def _supervised(self, name: str, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                self._until_stored(work)
            except Exception:
                log.critical("the worker's %s ended: the process ends, to be started anew", name, exc_info=True)
                self._failed = True
            if not self._ended.is_set():
                self._failed = True
                self._ended.set()

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread

    def _until_stored(self, work: Callable[[], None]) -> None:
        """Do it again and again while the database cannot be used: ending the process would not make room on a disk."""
        while not self._ended.is_set():
            try:
                work()
            except StoreUnavailable as error:
                log.warning("trying again in %.0f s: %s", STORE_AGAIN, error.detail)
                self._ended.wait(STORE_AGAIN)
            else:
                return

    def _tick(self) -> None:
        """One look at what is due. A second one at the same time is left to the first, which then looks once more.

        Without that once more, what was committed while the first was half way would wait for the next poll.
        """
        self._asked = True
        while self._asked and self._ticking.acquire(blocking=False):
            try:
                self._asked = False
                self._look()
            finally:
                self._ticking.release()

    def _look(self) -> None:
        self._ticked = time.monotonic()
        try:
            self._recovery.tick()
            self._continuations.tick()
            self._executions.tick()
            self._host_tests.tick()
        except StoreUnavailable as error:
            log.warning("the next tick tries again: %s", error.detail)
        except Exception:
            log.exception("a tick failed; the next one tries again")

    def _tick_on_hints(self) -> None:
        seen = self._wakeup.count
        while not self._ended.is_set():
            count = self._wakeup.wait(seen, POLL_SECONDS)
            if count != seen and not self._ended.is_set():
                seen = count
                self._tick()

    def _keep_house(self) -> None:
        try:
            workers.keep_house(self._store, self._clock.moment())
        except StoreUnavailable as error:
            log.warning("housekeeping waits: %s", error.detail)

    def _beat_on(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            self._beat()

    def _beat(self) -> None:
        workers.beat(
            self._store, self._owner, self._clock.moment(), self._lease, self._model_name, self._executions.following
        )

    def _watch(self, scheduler: BackgroundScheduler) -> None:
        """Re-arm the scheduler: a wall clock that was set back would keep it still until the old time comes again."""
        while not self._ended.wait(POLL_SECONDS):
            # A tick that takes long is no sign of a stepped clock.
            if time.monotonic() - self._ticked > OVERDUE and not self._ticking.locked():
                log.warning("no tick for %.0f s: the clock was stepped? Arming the scheduler again", OVERDUE)
                scheduler.reschedule_job("poll", trigger="interval", seconds=POLL_SECONDS)
                scheduler.wakeup()
                self._tick()
