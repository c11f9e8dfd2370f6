"""Reads the journal as it grows, once for all streams of this process, and watches worker and model."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nomos.clock import Clock
from nomos.domain.shapes import time as iso
from nomos.errors import StoreUnavailable
from nomos.live.hub import Hub
from nomos.store import journal, workers
from nomos.store.engine import Store
from nomos.store.hints import Wakeup

log = logging.getLogger(__name__)

PAGE = 500  # entries read at once
POLL = 1.0  # seconds between looks when no hint comes
HEALTH = 1.0  # seconds between looks at the worker
AWAY = 7.0  # seconds without a sign of life; a worker gives one every 3


class Tailer:
    """One thread that follows the journal. If it ends by a fault, the process ends, to be started anew."""

    def __init__(self, store: Store, clock: Clock, hub: Hub, wakeup: Wakeup) -> None:
        self._store = store
        self._clock = clock
        self._hub = hub
        self._wakeup = wakeup
        self._ended = threading.Event()
        self._starting = threading.Lock()
        self._started = False
        self._away_since: str | None = None

    def start(self) -> None:
        """Start following from the journal's present end; a second call does nothing."""
        with self._starting:
            if self._started:
                return
            self._started = True
            with self._store.read() as connection:
                cursor = journal.head(connection).seq
            for name, work in (
                ("hints", lambda: self._store.hints.listen(self._wakeup.set, self._ended)),
                ("tailer", lambda: self._follow(cursor)),
                ("health", self._watch),
            ):
                threading.Thread(target=self._supervised, args=(name, work), name=name, daemon=True).start()

    def stop(self) -> None:
        """End."""
        self._ended.set()
        self._wakeup.set()

    def _supervised(self, name: str, work: Any) -> None:
        try:
            work()
        except Exception:
            if self._ended.is_set():
                return
            log.critical("the feed's %s ended: the process ends, to be started anew", name, exc_info=True)
            os._exit(1)

    def _follow(self, cursor: int) -> None:
        seen = self._wakeup.count
        while not self._ended.is_set():
            try:
                with self._store.read() as connection:
                    head = journal.head(connection)
                    entries = journal.after(connection, cursor, PAGE)
            except StoreUnavailable as error:
                log.warning("the feed waits: %s", error.detail)
                self._ended.wait(POLL)
                continue
            if head.seq < cursor:  # another database under us: everybody has to begin anew
                cursor = head.seq
                continue
            if entries:
                cursor = entries[-1].seq
                self._hub.publish(entries, head.epoch)
                continue
            seen = self._wakeup.wait(seen, POLL)

    def _watch(self) -> None:
        while not self._ended.is_set():
            with suppress(StoreUnavailable):  # the feed's own reader says so
                self._hub.publish_health(self._look())
            self._ended.wait(HEALTH)

    def _look(self) -> Mapping[str, Any]:
        moment = self._clock.moment()
        with self._store.read() as connection:
            sign = workers.latest(connection, moment)
        if sign is None or sign.age > AWAY:
            if self._away_since is None:
                self._away_since = iso(sign.seen_at if sign is not None else moment.now)
            return {"worker": "away", "model": "unknown", "detail": None, "since": self._away_since}
        self._away_since = None
        return {"worker": "ok", "model": sign.model_state, "detail": sign.model_detail, "since": None}
