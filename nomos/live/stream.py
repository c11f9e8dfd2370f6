"""One open stream: subscribe, replay the journal after the cursor, then go live, dropping what was sent.

That order only: replaying first would lose what is committed in between.
"""

from __future__ import annotations

import queue
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nomos.live import sse
from nomos.live.hub import Frame, Hub, Subscription, Wants
from nomos.store import journal
from nomos.store.engine import Store
from nomos.store.journal import Head

BEAT_SECONDS = 15.0
RECHECK_SECONDS = 30.0
PAGE = 500


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a reader stands: ``<epoch>.<seq>``, or ``0`` for the start of what is kept, or nothing for now."""

    epoch: str | None
    seq: int | None

    @classmethod
    def parse(cls, text: str | None) -> Cursor:
        """Read a cursor. What cannot be read counts as an unknown epoch, so that it gives a reset."""
        text = (text or "").strip()
        if not text:
            return cls(None, None)
        if text == "0":
            return cls(None, 0)
        epoch, _, seq = text.partition(".")
        if not seq.isascii() or not seq.isdigit() or len(seq) > 18:
            return cls("?", 0)
        return cls(epoch, int(seq))

    def resumes(self, head: Head) -> bool:
        """Whether everything after this cursor can still be told."""
        if self.epoch is None:
            return True
        return self.epoch == head.epoch and self.seq is not None and head.floor <= self.seq <= head.seq


def open_stream(
    store: Store, hub: Hub, wants: Wants, cursor: Cursor, *, reset_to: str, allowed: Callable[[], bool]
) -> Iterator[bytes]:
    """The frames of one stream, for as long as it is read.

    :param reset_to: address of the snapshot that a reader must take whose cursor cannot be used. :param allowed:
        asked now and then: whether the reader may still read. Holds no database connection while it waits.
    """
    yield sse.OPENING
    subscription = hub.subscribe(wants)
    try:
        yield from _opened(store, hub, subscription, cursor, reset_to, allowed)
    finally:
        hub.leave(subscription)


def _opened(
    store: Store, hub: Hub, subscription: Subscription, cursor: Cursor, reset_to: str, allowed: Callable[[], bool]
) -> Iterator[bytes]:
    if hub.health:
        yield sse.control("health", hub.health)
    with store.read() as connection:
        head = journal.head(connection)
    if cursor.resumes(head):
        sent = head.seq if cursor.seq is None else cursor.seq
    else:
        yield sse.control("reset", {"snapshot": reset_to, "cursor": f"{head.epoch}.{head.seq}"})
        sent = head.seq
    wanted_session = subscription.wants.session_id if not subscription.wants.listed else None
    while sent < head.seq:
        with store.read() as connection:
            page = journal.after(connection, sent, PAGE, until=head.seq, session_id=wanted_session)
        for entry in page:
            if subscription.wants(entry):
                yield hub.frame(entry, head.epoch).data
        sent = page[-1].seq if len(page) == PAGE else head.seq
    yield sse.control("current", {"cursor": f"{head.epoch}.{sent}"})
    yield from _live(hub, subscription, sent, allowed)


def _live(hub: Hub, subscription: Subscription, sent: int, allowed: Callable[[], bool]) -> Iterator[bytes]:
    beat = check = time.monotonic()
    while not subscription.closed.is_set():
        if hub.ending.is_set():
            yield sse.control("bye", {"retry_ms": random.randrange(500, 3000)})  # noqa: S311 - spreads the return
            return
        now = time.monotonic()
        if now - check >= RECHECK_SECONDS:
            check = now
            if not allowed():
                return
        try:
            item = subscription.queue.get(timeout=max(0.0, beat + BEAT_SECONDS - now))
        except queue.Empty:
            beat = time.monotonic()
            yield sse.BEAT
            continue
        if isinstance(item, Frame):
            if item.entry.seq > sent:
                sent = item.entry.seq
                yield item.data
        elif item:
            yield item
