"""Decisions of a turn: is an answer usable, and what follows where it is not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from nomos.domain.replies import Reply
from nomos.errors import FaultKind

NUDGE = (
    "Nomos to the agent: your last answer could not be used ({why}). Go on from the results above: "
    "call a tool, or answer in words; do not answer with nothing."
)


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer that cannot be used, and why, as one clause for operator and model."""

    kind: FaultKind
    why: str


def words_of(reply: Reply) -> str:
    """All text of an answer, without its thinking."""
    return "".join(str(block.get("text") or "") for block in reply.content if block.get("type") == "text")


def judge(reply: Reply) -> Fault | None:
    """Say what is wrong with an answer, or None where it can be stored and acted upon.

    A turn is accepted only if ``message_stop`` was seen and a stop reason is set; tools run only if the answer
    stopped for them and each call's block was closed.
    """
    calls = [index for index, block in enumerate(reply.content) if block.get("type") == "tool_use"]
    if not reply.complete or reply.stop_reason is None:
        return Fault(FaultKind.BROKEN, "the stream ended before the answer was complete")
    if reply.stop_reason == "refusal":
        why = f"the model refused: {reply.refusal}" if reply.refusal else "the model refused"
        return Fault(FaultKind.REFUSED, why)
    if reply.stop_reason == "model_context_window_exceeded":
        return Fault(FaultKind.TOO_LONG, "the conversation no longer fits into the model's context window")
    if calls and reply.stop_reason == "max_tokens":
        return Fault(FaultKind.CUT, "the answer was cut off in the middle of a tool call")
    if calls and (reply.stop_reason != "tool_use" or not reply.closed.issuperset(calls)):
        return Fault(FaultKind.CUT, "the answer ended before its tool call was complete")
    if not calls and not words_of(reply).strip():
        return Fault(FaultKind.EMPTY, "the answer held neither words nor a tool call")
    return None


class Next(StrEnum):
    """What follows a fault."""

    ASK_CHANGED = "ask_changed"  # the inner retry: the same step, with a nudge
    ASK_AGAIN = "ask_again"  # the outer retry: from the last stored result, as if nothing had been asked
    LATER = "later"  # give the turn back; the session becomes due again by itself
    GIVE_UP = "give_up"  # explain to the operator


@dataclass(frozen=True, slots=True)
class Retry:
    """The decision after a fault. ``delay``: seconds to wait first."""

    next: Next
    delay: float = 0.0


LONGEST_DELAY = 300.0
LONGEST_WAIT_IN_TURN = 20.0


def after_fault(
    kind: FaultKind, tries: int, *, base: float, retry_after: float | None, may_wait: bool, waits: int
) -> Retry:
    """Decide what follows a fault.

    :param tries: how often this step was asked in vain, this time included. :param base: seconds, see
        NOMOS_RETRY_SECONDS. :param retry_after: seconds that the service asked for. :param may_wait: a window is
        open, or the operator wrote a short while ago: the turn may come back by itself.
    :param waits: how often this turn was put off already.
    """
    if kind in {FaultKind.PERMANENT, FaultKind.TOO_LONG, FaultKind.STOPPED}:
        return Retry(Next.GIVE_UP)
    if kind is FaultKind.REFUSED:
        # The same history refuses again, so only the changed question is worth one more call.
        return Retry(Next.ASK_CHANGED) if tries == 1 else Retry(Next.GIVE_UP)
    transient = kind is FaultKind.TRANSIENT
    wait = max(base * tries, retry_after or 0.0) if transient else 0.0
    if tries < 3 and wait <= LONGEST_WAIT_IN_TURN:
        if transient:
            return Retry(Next.ASK_AGAIN, wait)
        return Retry(Next.ASK_CHANGED if tries == 1 else Next.ASK_AGAIN)
    if transient and may_wait:
        return Retry(Next.LATER, min(max(base * 2.0 ** (min(waits, 16) + 2), retry_after or 0.0), LONGEST_DELAY))
    return Retry(Next.GIVE_UP)
