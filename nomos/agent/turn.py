"""The loop of one turn: answer open calls, ask for the next answer, until the turn has to wait or is done."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass

from nomos.actions import turns
from nomos.actions.turns import Turn
from nomos.agent.asking import Asking, GivenUp
from nomos.agent.calls import CONCLUDED, Calls
from nomos.agent.heart import Heart
from nomos.clock import Clock
from nomos.domain import notices
from nomos.domain.continuations import Limits, may_wait
from nomos.domain.executions import Execution
from nomos.domain.messages import Answer, Block, BlockKind, Message, MessageStatus
from nomos.domain.sessions import Ending
from nomos.domain.telling import INTERRUPTED_CALL, STOPPED_CALL
from nomos.errors import ClaimLost, FaultKind, StoreUnavailable
from nomos.store import executions, messages, sessions, windows
from nomos.store.engine import Store
from nomos.store.hints import Wakeup

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Past:
    """What a turn is asked from: the messages up to its own, and every stored answer."""

    messages: tuple[Message, ...]
    answers: tuple[Answer, ...]

    @property
    def own(self) -> Message:
        """The turn's message."""
        return self.messages[-1]

    @property
    def step(self) -> int:
        """How many answers the turn has."""
        return sum(1 for answer in self.answers if answer.message_id == self.own.id)


@dataclass(frozen=True, slots=True)
class TurnRunner:
    """Runs turns.

    ``lease``: seconds; ``max_steps``: answers a turn may take; ``on_model``: told each fault of the service, or None.
    """

    store: Store
    clock: Clock
    wakeup: Wakeup
    asking: Asking
    calls: Calls
    limits: Limits
    lease: float
    max_steps: int
    on_model: Callable[[str | None], None]

    def run(self, turn: Turn) -> None:
        """Run a turn to its end, its wait, or the loss of its claim. Never raises for what the model or a host does."""
        with Heart(self.store, self.clock, self.wakeup, turn.claim, self.lease) as heart:
            try:
                self._loop(turn, heart)
            except ClaimLost:
                return  # whoever took it goes on from what is stored
            except StoreUnavailable as error:
                self._leave_open(turn, error)
            except GivenUp as given_up:
                try:
                    self._give_up(turn, given_up)
                except ClaimLost:
                    return
                except StoreUnavailable as error:
                    self._leave_open(turn, error)
            except Exception:
                log.exception("turn of session %s: unexpected fault", turn.claim.session_id)
                with contextlib.suppress(ClaimLost, StoreUnavailable):
                    notice = notices.own_fault(self._own_executions(turn))
                    self._end(turn, MessageStatus.FAILED, Ending.FAILED, notice=notice, code="internal")

    def _leave_open(self, turn: Turn, error: StoreUnavailable) -> None:
        """Leave it as it is stored: once its lease is over it is taken up again."""
        log.warning("turn of session %s goes on once its lease is over: %s", turn.claim.session_id, error.detail)

    def _loop(self, turn: Turn, heart: Heart) -> None:
        while True:
            past = self._past(turn)
            step = past.step
            calls = _open_calls(past.own)
            for block in calls:
                if heart.out:
                    return self._stop(turn, heart)
                self.calls.answer(turn.claim, heart, block)
            if heart.out:
                return self._stop(turn, heart)
            if calls:
                past = self._past(turn)
            if step and (ending := _ending(past.own, step - 1)) is not None:
                return self._end(turn, MessageStatus.DONE, ending)
            if step >= self.max_steps:
                notice = notices.too_many_steps(self.max_steps, self._own_executions(turn))
                return self._end(turn, MessageStatus.FAILED, Ending.FAILED, notice=notice, code="too_many_steps")
            self.asking.ask(
                turn.claim, heart, past.own, step, past.messages, past.answers, lambda: self._may_wait(turn)
            )
            self.on_model(None)

    def _past(self, turn: Turn) -> _Past:
        with self.store.read() as connection:
            every = messages.page(connection, turn.claim.session_id)
            answers = messages.all_answers(connection, turn.claim.session_id)
        return _Past(tuple(m for m in every if m.position <= turn.message.position), answers)

    def _own_executions(self, turn: Turn) -> tuple[Execution, ...]:
        with self.store.read() as connection:
            every = executions.of_session(connection, turn.claim.session_id)
        return tuple(execution for execution in every if execution.message_id == turn.message.id)

    def _may_wait(self, turn: Turn) -> bool:
        with self.store.read() as connection:
            window = windows.latest(connection, turn.claim.session_id)
            last_word_at = sessions.work(connection, turn.claim.session_id).last_word_at
        return may_wait(
            now=self.clock.now(), window=window, last_word_at=last_word_at, origin=turn.message.origin,
            limits=self.limits,
        )  # fmt: skip

    def _end(
        self, turn: Turn, status: MessageStatus, ending: Ending, *, notice: str | None = None, code: str | None = None
    ) -> None:
        turns.end(
            self.store, turn.claim, turn.message.id, status, ending, self.clock.now(), notice=notice, code=code,
            open_calls=INTERRUPTED_CALL,
        )  # fmt: skip

    def _stop(self, turn: Turn, heart: Heart) -> None:
        heart.check()
        notice = notices.stopped(self._own_executions(turn))
        turns.end(
            self.store, turn.claim, turn.message.id, MessageStatus.STOPPED, Ending.STOPPED, self.clock.now(),
            notice=notice, code="stopped", open_calls=STOPPED_CALL,
        )  # fmt: skip

    def _give_up(self, turn: Turn, given_up: GivenUp) -> None:
        fault, asked = given_up.fault, given_up.asked
        ran = self._own_executions(turn)
        if fault.kind is FaultKind.STOPPED:
            turns.end(
                self.store, turn.claim, turn.message.id, MessageStatus.STOPPED, Ending.STOPPED, self.clock.now(),
                notice=notices.stopped(ran), code="stopped", open_calls=STOPPED_CALL,
            )  # fmt: skip
            return
        if fault.kind in {FaultKind.TRANSIENT, FaultKind.PERMANENT}:
            self.on_model(fault.why)
        if given_up.later is not None:
            notice = notices.waits(fault.why, asked, given_up.later, ran)
            turns.put_off(self.store, turn.claim, turn.message.id, self.clock.moment(), given_up.later, notice)
            return
        notice = notices.gave_up(fault.kind, fault.why, asked, ran)
        self._end(turn, MessageStatus.FAILED, Ending.FAILED, notice=notice, code=f"model_{fault.kind}")


def _open_calls(message: Message) -> tuple[Block, ...]:
    return tuple(
        block
        for block in message.blocks
        if block.kind is BlockKind.TOOL_CALL and block.result is None and block.call_id is not None
    )


def _ending(message: Message, step: int) -> Ending | None:
    """How the turn ends after this step: it called nothing more, or it concluded. None where it goes on."""
    calls = [block for block in message.blocks if block.kind is BlockKind.TOOL_CALL and block.step == step]
    if not calls:
        return Ending.TALK
    for block in calls:
        if block.result == CONCLUDED and block.input is not None:
            return Ending.VERIFIED if block.input.get("outcome") == "verified" else Ending.BLOCKED
    return None
