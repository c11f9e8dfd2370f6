"""Watches one running job for what following alone does not show: Stop, silence, a question, a line of input."""

from __future__ import annotations

import threading

from nomos.actions import executions as actions
from nomos.clock import Clock
from nomos.domain.quiet import question_in
from nomos.errors import ClaimLost
from nomos.ssh.base import JobState, Shell, Target
from nomos.store import orders
from nomos.store.engine import Store
from nomos.store.executions import ExecutionClaim
from nomos.store.orders import Orders
from nomos.worker.pump import Pump

LOOK_EVERY = 0.4  # seconds between two looks at the store
KILL_AFTER = 10.0  # seconds between TERM and KILL
ASKS_AFTER = 3.0  # seconds of silence after which an unfinished line may be a question


class OrderBook:
    """The operators' orders, looked up once for all watches of a worker: fifty that each looked took 15 % of a CPU."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._looking = threading.Lock()
        self._looked = float("-inf")
        self._orders = Orders()

    def latest(self) -> Orders:
        """The orders as of at most ``LOOK_EVERY`` ago, or of the look that is under way. The same until the next."""
        if self._clock.ticks() - self._looked >= LOOK_EVERY and self._looking.acquire(blocking=False):
            try:
                with self._store.read() as connection:
                    self._orders = orders.read(connection)
                self._looked = self._clock.ticks()
            finally:
                self._looking.release()
        return self._orders


class Watch:
    """Asked often by the follower whether it has to interrupt (``due``), and then told to act (``act``).

    ``silence``: seconds without output after which the job is ended, 0 for never; ``silent``: that has happened.
    ``kill_after``: seconds from TERM to KILL. ``stopping``: the job is to end.
    """

    def __init__(
        self, store: Store, clock: Clock, shell: Shell, book: OrderBook, target: Target, claim: ExecutionClaim,
        pump: Pump, silence: int, kill_after: float = KILL_AFTER,
    ) -> None:  # fmt: skip
        self._store = store
        self._clock = clock
        self._shell = shell
        self._book = book
        self._target = target
        self._claim = claim
        self._pump = pump
        self._silence = silence
        self._kill_after = kill_after
        self._read = pump.read
        self._heard = clock.ticks()
        self._orders: Orders | None = None
        self._asked: bytes | None = None
        self.stopping = False
        self._input = False
        self._sent_at: float | None = None
        self._killed = False
        self.silent = False

    def due(self) -> bool:
        """Whether following has to be interrupted now."""
        now = self._clock.ticks()
        if self._pump.read != self._read:
            self._read, self._heard, self._asked = self._pump.read, now, None
        latest = self._book.latest()
        if latest is not self._orders:
            self._orders = latest
            self._look(latest, now)
        return self._signal_due(now) or (self._input and not self.stopping)

    def act(self) -> None:
        """Do what is due: send a signal over a connection of its own, or hand the job a line."""
        now = self._clock.ticks()
        if self._signal_due(now):
            self._killed = self._sent_at is not None
            self._shell.cancel(self._target, self._claim.execution_id, kill=self._killed)
            self._sent_at = self._clock.ticks()
        elif self._input:
            self._input = False
            line = actions.take_input(self._store, self._claim, self._clock.now())
            if line is not None:
                status = self._shell.input(self._target, self._claim.execution_id, line)
                if status.state is JobState.RUNNING and not status.taken:
                    why = f"your line was not handed over: {status.why}"
                    actions.note(self._store, self._claim, why, self._clock.now())
            self._heard = self._clock.ticks()

    def _look(self, latest: Orders, now: float) -> None:
        self._input = self._claim.execution_id in latest.input
        quiet = now - self._heard
        if self._claim.execution_id in latest.end:
            self.stopping = True
        elif self._silence and quiet >= self._silence:
            self.stopping = self.silent = True
        if quiet >= ASKS_AFTER and self._asked != self._pump.tail and not self.stopping:
            self._asked = self._pump.tail
            question = question_in(self._pump.tail.decode("utf-8", "replace"))
            if question is not None:
                try:
                    actions.note_question(self._store, self._claim, question, self._clock.now())
                except ClaimLost:
                    self._pump.lost = True

    def _signal_due(self, now: float) -> bool:
        if not self.stopping or self._killed:
            return False
        return self._sent_at is None or now - self._sent_at >= self._kill_after
