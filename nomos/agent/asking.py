"""Asks the model until there is a usable answer, or until it is clear that there will be none."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from nomos.actions import turns
from nomos.actions.growth import Gatherer
from nomos.agent.heart import Heart
from nomos.agent.prompt import build
from nomos.agent.transcript import with_unique_ids
from nomos.clock import Clock
from nomos.domain.messages import Answer, Block, BlockKind, Message
from nomos.domain.replies import Reply
from nomos.domain.turns import NUDGE, Fault, Next, after_fault, judge
from nomos.errors import ClaimLost, FaultKind, ModelFault
from nomos.llm.base import Model, ModelRequest, Piece
from nomos.store import messages
from nomos.store.engine import Store
from nomos.store.sessions import Claim

_KINDS = {"text": BlockKind.TEXT, "thinking": BlockKind.THINKING, "tool_call": BlockKind.TOOL_CALL}


class GivenUp(Exception):
    """No usable answer came. ``later``: seconds after which the turn may come back by itself, None for never."""

    def __init__(self, fault: Fault, asked: int, later: float | None) -> None:
        super().__init__(fault.why)
        self.fault = fault
        self.asked = asked
        self.later = later


@dataclass(slots=True)
class _Live:
    """Shows the pieces of one attempt while they come."""

    store: Store
    clock: Clock
    gatherer: Gatherer
    claim: Claim
    message_id: str
    step: int
    heart: Heart
    shown: dict[int, str] = field(default_factory=dict)
    held: dict[int, str] = field(default_factory=dict)

    def on_piece(self, piece: Piece) -> None:
        """Show one piece; once the claim is lost, none any more, and the attempt is called off."""
        try:
            self._show(piece)
        except ClaimLost:
            self.heart.lost = True

    def _show(self, piece: Piece) -> None:
        # Blank beginnings are held back: a block that stays blank is never shown.
        kind = _KINDS[piece.kind]
        text = piece.text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
        if piece.index not in self.shown:
            if kind is not BlockKind.TOOL_CALL:
                text = self.held.get(piece.index, "") + text
                if not text.strip():
                    self.held[piece.index] = text
                    return
            name = text if kind is BlockKind.TOOL_CALL else None
            block = turns.open_block(
                self.store, self.claim, self.message_id, kind, self.step, self.clock.now(), name=name
            )
            self.shown[piece.index] = block.id
        if kind is not BlockKind.TOOL_CALL and text:
            self.gatherer.text(self.claim, self.shown[piece.index], text)


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks for one answer of a turn. ``retry_seconds``: see NOMOS_RETRY_SECONDS."""

    store: Store
    clock: Clock
    gatherer: Gatherer
    model: Model
    retry_seconds: float

    def ask(
        self, claim: Claim, heart: Heart, message: Message, step: int, past: tuple[Message, ...],
        answers: tuple[Answer, ...], may_wait: Callable[[], bool],
    ) -> tuple[Block, ...]:  # fmt: skip
        """Ask, store the answer as received, and return the blocks of its tool calls.

        One changed inner retry, one outer retry from the last stored result; transient faults of the service may be
        put off. No tool is run again by any of it.

        :raises GivenUp: no usable answer came; with ``FaultKind.STOPPED`` because the operator pressed Stop.
        :raises ClaimLost: another worker has the turn.
        """
        with self.store.read() as connection:
            tries, waits = messages.counts(connection, message.id)
        if any(block.step >= step and block.kind is not BlockKind.NOTICE for block in message.blocks):
            turns.discard(self.store, claim, message.id, step, self.clock.now())  # what a crash cut off
        nudge: str | None = None
        while True:
            live = _Live(self.store, self.clock, self.gatherer, claim, message.id, step, heart)
            reply, fault, retry_after = self._attempt(build(past, answers, nudge=nudge), live, heart, tries == 0)
            heart.check()
            if fault is None and reply is not None:
                reply = with_unique_ids(reply, answers)
                return turns.accept(
                    self.store, claim, message.id, step, reply, live.shown, self.clock.now(), nudge=nudge
                )
            assert fault is not None
            tries += 1
            turns.note_try(self.store, claim, message.id, step, tries, self.clock.now())
            retry = after_fault(
                fault.kind, tries, base=self.retry_seconds, retry_after=retry_after, may_wait=may_wait(), waits=waits
            )
            if retry.next is Next.LATER:
                raise GivenUp(fault, tries, retry.delay)
            if retry.next is Next.GIVE_UP:
                raise GivenUp(fault, tries, None)
            nudge = NUDGE.format(why=fault.why) if retry.next is Next.ASK_CHANGED else None
            self._pause(retry.delay, heart)

    def _attempt(
        self, request: ModelRequest, live: _Live, heart: Heart, first: bool
    ) -> tuple[Reply | None, Fault | None, float | None]:
        try:
            reply = self.model.stream(request, live.on_piece, lambda: heart.out, first_try=first)
        except ModelFault as error:
            self.gatherer.flush()
            return None, Fault(error.kind, error.detail), error.retry_after
        self.gatherer.flush()
        return reply, judge(reply), None

    def _pause(self, seconds: float, heart: Heart) -> None:
        deadline = time.monotonic() + seconds
        while not heart.out and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))
        heart.check()
        if heart.stopped:
            raise GivenUp(Fault(FaultKind.STOPPED, "stopped by the operator"), 1, None)
