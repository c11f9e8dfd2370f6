"""Hands what the tailer read to the open streams of this process, each with a bounded queue."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nomos.domain.events import Entry, Type, envelope
from nomos.live import sse

QUEUE = 2000  # frames a reader may be behind; then it is closed, comes back, and replays


@dataclass(frozen=True, slots=True)
class Wants:
    """What a stream carries. ``session_id`` None: all sessions.

    ``listed``: a session's own stream also tells of changes of all sessions. ``output``: pieces of output too.
    """

    session_id: str | None = None
    types: frozenset[Type] | None = None
    host: str | None = None
    output: bool = False
    listed: bool = False

    def __call__(self, entry: Entry) -> bool:
        if self.types is not None and entry.type not in self.types:
            return False
        if self.session_id is not None and entry.session_id != self.session_id:
            return self.listed and entry.type is Type.SESSION_CHANGED
        if self.host is not None and entry.host != self.host:
            return False
        return entry.type is not Type.EXECUTION_OUTPUT or self.output


@dataclass(frozen=True, slots=True)
class Frame:
    """One entry and its bytes, made once for all streams."""

    entry: Entry
    data: bytes


@dataclass(eq=False, slots=True)
class Subscription:
    """One open stream's place in the hub. ``closed``: it fell too far behind, or the hub ended."""

    wants: Wants
    queue: queue.Queue[Frame | bytes] = field(default_factory=lambda: queue.Queue(QUEUE))
    closed: threading.Event = field(default_factory=threading.Event)


class Hub:
    """The subscriptions of one process. ``source`` is the address that events name as theirs."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._subscriptions: set[Subscription] = set()
        self._health: Mapping[str, Any] = {}
        self.ending = threading.Event()

    def frame(self, entry: Entry, epoch: str) -> Frame:
        """An entry with its bytes."""
        return Frame(entry, sse.event(f"{epoch}.{entry.seq}", envelope(entry, epoch, self._source)))

    def subscribe(self, wants: Wants) -> Subscription:
        """Begin to queue what a stream wants."""
        subscription = Subscription(wants)
        with self._lock:
            self._subscriptions.add(subscription)
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """Forget a stream."""
        with self._lock:
            self._subscriptions.discard(subscription)

    @property
    def streams(self) -> int:
        """How many streams are open."""
        return len(self._subscriptions)

    @property
    def health(self) -> Mapping[str, Any]:
        """How worker and model were found last."""
        return self._health

    def publish(self, entries: Sequence[Entry], epoch: str) -> None:
        """Hand entries out, in order. A queue that is full closes its stream; nothing is ever left out silently."""
        frames = [self.frame(entry, epoch) for entry in entries]
        for subscription in self._all():
            for frame in frames:
                if subscription.wants(frame.entry) and not self._put(subscription, frame):
                    break

    def publish_health(self, health: Mapping[str, Any]) -> None:
        """Tell every stream how worker and model are, if that has changed."""
        if health == self._health:
            return
        self._health = health
        data = sse.control("health", health)
        for subscription in self._all():
            self._put(subscription, data)

    def end(self) -> None:
        """End every stream with ``bye``."""
        self.ending.set()
        for subscription in self._all():
            self._put(subscription, b"")

    def _all(self) -> list[Subscription]:
        with self._lock:
            return list(self._subscriptions)

    def _put(self, subscription: Subscription, item: Frame | bytes) -> bool:
        try:
            subscription.queue.put_nowait(item)
        except queue.Full:
            subscription.closed.set()
            self.leave(subscription)
            return False
        return True
