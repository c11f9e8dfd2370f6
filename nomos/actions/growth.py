"""Growth: pieces of text and output of all streams of one worker, gathered and committed together.

However many streams run, a worker commits at most 20 times a second; the first piece after a silence goes at once.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from nomos.clock import Clock
from nomos.errors import ClaimLost
from nomos.store import executions, messages, output, sessions
from nomos.store.engine import Store
from nomos.store.executions import ExecutionClaim
from nomos.store.sessions import Claim

SHORTEST_PAUSE = 0.05  # seconds between two commits
MOST_GATHERED = 4 * 1024 * 1024  # bytes of output; whoever brings more commits first, and so reads no faster than that


@dataclass(slots=True)
class Batch:
    """What has gathered since the last commit, in order for each block and each execution."""

    texts: dict[tuple[Claim, str], list[str]] = field(default_factory=dict)
    outputs: dict[ExecutionClaim, list[tuple[bytes, int]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.texts or self.outputs)

    def extend(self, later: Batch) -> None:
        """Put what a later batch holds behind what this one does."""
        for place, pieces in later.texts.items():
            self.texts.setdefault(place, []).extend(pieces)
        for claim, parts in later.outputs.items():
            self.outputs.setdefault(claim, []).extend(parts)


def commit(store: Store, batch: Batch, clock: Clock, cap: int) -> frozenset[Claim | ExecutionClaim]:
    """Write a batch in one transaction. Returns the claims that were lost: their pieces are thrown away."""
    lost: set[Claim | ExecutionClaim] = set()
    with store.write(clock.now()) as tx:
        checked: dict[Claim, bool] = {}
        # Sorted, sessions before executions: two that lock several rows must not wait for each other.
        for (claim, block_id), pieces in sorted(batch.texts.items(), key=lambda item: item[0][0].session_id):
            if claim not in checked:
                try:
                    sessions.check(tx, claim)
                    checked[claim] = True
                except ClaimLost:
                    checked[claim] = False
                    lost.add(claim)
            if checked[claim]:
                messages.append_text(tx, block_id, claim.session_id, "".join(pieces))
        for execution_claim, parts in sorted(batch.outputs.items(), key=lambda item: item[0].execution_id):
            try:
                execution = executions.check(tx, execution_claim)
            except ClaimLost:
                lost.add(execution_claim)
                continue
            piece = b"".join(part for part, _ in parts)
            # A commit whose answer was lost is made again: what it stored is there already.
            piece = piece[max(0, execution.host_bytes - parts[0][1]) :]
            output.append(tx, execution, piece, read=len(piece), cap=cap)
    return frozenset(lost)


class Gatherer:
    """Collects pieces from many threads and commits them from one. ``cap``: bytes of output stored an execution."""

    def __init__(self, store: Store, clock: Clock, cap: int) -> None:
        self._store = store
        self._clock = clock
        self._cap = cap
        self._changed = threading.Condition()
        self._committing = threading.Lock()
        self._batch = Batch()
        self._gathered = 0
        self._lost: set[Claim | ExecutionClaim] = set()
        self._ended = False

    def text(self, claim: Claim, block_id: str, piece: str) -> None:
        """Add words to a block.

        :raises ClaimLost: an earlier piece was refused.
        """
        with self._changed:
            self._refuse_lost(claim)
            self._batch.texts.setdefault((claim, block_id), []).append(piece)
            self._changed.notify()

    def output(self, claim: ExecutionClaim, piece: bytes, at: int) -> None:
        """Add output to an execution; ``at`` is the byte of the host's file that it begins with.

        :raises ClaimLost: an earlier piece was refused. :raises StoreUnavailable: much has gathered, and cannot be
            committed now.
        """
        with self._changed:
            self._refuse_lost(claim)
            self._batch.outputs.setdefault(claim, []).append((piece, at))
            self._gathered += len(piece)
            too_much = self._gathered > MOST_GATHERED
            self._changed.notify()
        if too_much:
            self.flush()

    def _refuse_lost(self, claim: Claim | ExecutionClaim) -> None:
        if claim in self._lost:
            raise ClaimLost

    def flush(self) -> None:
        """Commit all that has gathered, now. If that fails nothing of it is lost: the next commit has it first."""
        with self._committing:
            with self._changed:
                batch, self._batch = self._batch, Batch()
                gathered, self._gathered = self._gathered, 0
            if not batch:
                return
            try:
                lost = commit(self._store, batch, self._clock, self._cap)
            except BaseException:
                with self._changed:
                    batch.extend(self._batch)
                    self._batch = batch
                    self._gathered += gathered
                raise
            with self._changed:
                self._lost |= lost

    def run(self) -> None:
        """Commit until ``close``; to be run in a thread of its own."""
        last = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._batch) or self._ended)
                if self._ended:
                    return
            pause = last + SHORTEST_PAUSE - time.monotonic()
            if pause > 0:
                with self._changed:
                    self._changed.wait_for(lambda: self._ended, pause)
            last = time.monotonic()
            self.flush()

    def close(self) -> None:
        """End ``run`` after a last commit."""
        self.flush()
        with self._changed:
            self._ended = True
            self._changed.notify_all()
