"""Turns: begin, show what comes, store what was answered, end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from nomos.actions.closing import STOPPED_NOTICE, WAITING_CODE, close_turn, drop_waiting_notice
from nomos.clock import Moment
from nomos.domain import telling
from nomos.domain.approvals import Approval, ApprovalState, Verdict
from nomos.domain.continuations import Limits, Wake, decide
from nomos.domain.executions import ENDED, Execution
from nomos.domain.messages import Block, BlockKind, Message, MessageStatus, Origin, Role
from nomos.domain.replies import Reply
from nomos.domain.sessions import Ending
from nomos.store import approvals, executions, messages, output, plans, sessions, windows
from nomos.store.engine import Store
from nomos.store.sessions import Claim
from nomos.store.transaction import Tx

TOLD_OUTPUT = 64 * 1024  # bytes of output looked at for one event or result, before it is clipped


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn under a claim. ``resumed``: it had begun before and goes on from what is stored."""

    claim: Claim
    message: Message
    resumed: bool


def claim_due(store: Store, owner: str, moment: Moment, lease: float, limits: Limits) -> tuple[bool, Turn | None]:
    """Take the next session that is due, and begin or resume its turn: the placeholder is there from this instant.

    Returns whether any session was due, and the turn if one has to run. Everything that the agent is to be told is
    stored before it is invoked: one event message for each ended execution, marked continued in the same transaction.
    """
    with store.write(moment.now) as tx:
        claim = sessions.claim_due(tx, owner, moment, lease)
        if claim is None:
            return False, None
        return True, _begin(tx, claim, limits)


def _begin(tx: Tx, claim: Claim, limits: Limits) -> Turn | None:
    session_id = claim.session_id
    work = sessions.work(tx.c, session_id)
    spoken = messages.unanswered(tx.c, session_id)
    before = messages.open_turn(tx.c, session_id)
    if before is not None:
        put_off = messages.counts(tx.c, before.id)[1] > 0
        if not (put_off and spoken):
            # What became due since the turn began is not told in it: the session stays due until it has been looked at.
            return Turn(replace(claim, due=claim.due - 1), before, resumed=True)
        close_turn(
            tx, before, MessageStatus.FAILED, open_calls=telling.INTERRUPTED_CALL, code="superseded",
            notice="The model service had not answered yet when you wrote again. This turn was given up; "
            "all results that were in are kept, and nothing is run again.",
        )  # fmt: skip
    ended = executions.not_continued(tx.c, session_id)
    asking = executions.asking(tx.c, session_id)
    told = approvals.untold(tx.c, session_id)
    window = windows.latest(tx.c, session_id)
    decision = decide(
        now=tx.at,
        spoken=spoken,
        decided=bool(told),
        ended=ended,
        asking=asking,
        window=window,
        last_word_at=work.last_word_at,
        ending=work.ending,
        limits=limits,
    )
    if decision.wake is not Wake.RUN:
        parks = decision.wake is Wake.PARK
        if decision.limit and window is not None and work.ending is not Ending.PARKED:
            messages.add(
                tx, session_id, Role.EVENT, Origin.CONTINUATION, code="continuations_used_up",
                text=telling.continuations_used_up(window.continuations),
            )  # fmt: skip
        sessions.release(tx, claim, Ending.PARKED if parks else None)
        return None
    _tell(tx, session_id, ended, told)
    for execution in asking:
        text = telling.execution_asks(execution)
        messages.add(tx, session_id, Role.EVENT, Origin.CONTINUATION, text=text, code="execution_asks")
        executions.change(tx, execution.id, question_told=True)
    if decision.origin is Origin.CONTINUATION and window is not None and window.is_open(tx.at):
        windows.change(tx, window, continuations=window.continuations + 1)
    placeholder = messages.add(tx, session_id, Role.AGENT, decision.origin)
    return Turn(claim, placeholder, resumed=False)


def _tell(tx: Tx, session_id: str, ended: Sequence[Execution], told: Sequence[Approval]) -> None:
    """Store the event messages that the coming turn begins with."""
    for approval in told:
        if approval.plan_id is not None:
            window = windows.latest(tx.c, session_id)
            until = window.expires_at if window is not None and window.is_open(tx.at) else None
            plan = plans.get(tx.c, approval.plan_id)
            text, code = telling.plan_decided(approval, plan, _verdict(approval), until), "plan_decided"
        else:
            text, code = telling.approval_decided(approval, _verdict(approval)), "approval_decided"
        messages.add(tx, session_id, Role.EVENT, Origin.DECISION, text=text, code=code)
        approvals.mark_told(tx, approval.id)
    for execution in ended:
        text = telling.execution_ended(execution, output.for_agent(tx.c, execution, TOLD_OUTPUT))
        messages.add(tx, session_id, Role.EVENT, Origin.CONTINUATION, text=text, code="execution_ended")
        executions.change(tx, execution.id, continued_at=tx.at)


def _verdict(approval: Approval) -> Verdict:
    return Verdict.APPROVE if approval.state is ApprovalState.APPROVED else Verdict.DENY


def beat(store: Store, claim: Claim, moment: Moment, lease: float) -> bool:
    """Prolong the claim's lease. Returns whether the operator asked to stop.

    :raises ClaimLost: another worker has the turn.
    """
    with store.write(moment.now) as tx:
        sessions.renew(tx, claim, moment, lease)
        return sessions.work(tx.c, claim.session_id).stop_requested


def open_block(
    store: Store, claim: Claim, message_id: str, kind: BlockKind, step: int, now: datetime, *, name: str | None = None
) -> Block:
    """Show that a block of the model's answer begins; its words follow through ``growth``."""
    with store.write(now) as tx:
        sessions.check(tx, claim)
        message = messages.get(tx.c, message_id)
        if message.status is MessageStatus.THINKING:
            messages.set_status(tx, message_id, MessageStatus.WORKING)
        return messages.add_block(tx, message_id, kind, step=step, name=name)


def discard(store: Store, claim: Claim, message_id: str, step: int, now: datetime) -> None:
    """Take back what an attempt had shown that a crash cut off."""
    with store.write(now) as tx:
        sessions.check(tx, claim)
        _discard(tx, claim.session_id, message_id, step)


def _discard(tx: Tx, session_id: str, message_id: str, step: int) -> None:
    shown = [block for block in messages.get(tx.c, message_id).blocks
             if block.step >= step and block.kind is not BlockKind.NOTICE]  # fmt: skip
    messages.remove_blocks(tx, session_id, shown)


def accept(
    store: Store, claim: Claim, message_id: str, step: int, reply: Reply, shown: Mapping[int, str],
    now: datetime, *, nudge: str | None,
) -> tuple[Block, ...]:  # fmt: skip
    """Store an answer as received, before any of its tool calls is run; settle the blocks that were shown.

    :param shown: block ids by place in the answer. :returns: the blocks of its tool calls, in order.
    """
    with store.write(now) as tx:
        sessions.check(tx, claim)
        messages.add_answer(tx, message_id, step, reply, nudge)
        messages.set_counts(tx, message_id, tries=0, waits=0)
        message = messages.get(tx.c, message_id)
        drop_waiting_notice(tx, message)
        if message.status is MessageStatus.THINKING:
            messages.set_status(tx, message_id, MessageStatus.WORKING)
        before = {block.id: block for block in message.blocks}
        for index, part in enumerate(reply.content):
            _settle_block(tx, claim.session_id, message_id, step, part, before.get(shown.get(index, "")))
        return tuple(
            block for block in messages.get(tx.c, message_id).blocks
            if block.step == step and block.kind is BlockKind.TOOL_CALL
        )  # fmt: skip


def _settle_block(
    tx: Tx, session_id: str, message_id: str, step: int, part: Mapping[str, Any], live: Block | None
) -> None:
    """Bring one shown block in line with the answer as received, or add it."""
    kind = part.get("type")
    if kind == "tool_use":
        name, call_id = str(part.get("name", "")), str(part.get("id", ""))
        if live is not None:
            messages.change_block(tx, live.id, name=name, call_id=call_id, input=_input(part))
        else:
            messages.add_block(
                tx, message_id, BlockKind.TOOL_CALL, step=step, name=name, call_id=call_id, input_=_input(part)
            )
        return
    text = str(part.get("text") or part.get("thinking") or "").replace("\x00", "\ufffd")
    if not text.strip() or kind not in {"text", "thinking"}:
        if live is not None:
            messages.remove_blocks(tx, session_id, [live])
        return
    block_kind = BlockKind.TEXT if kind == "text" else BlockKind.THINKING
    if live is None:
        messages.add_block(tx, message_id, block_kind, step=step, text=text)
    elif live.text != text:
        messages.change_block(tx, live.id, text=text)


def _input(part: Mapping[str, Any]) -> dict[str, Any]:
    given = part.get("input")
    return dict(given) if isinstance(given, Mapping) else {}


def answer(store: Store, claim: Claim, block_id: str, result: str, now: datetime, *, is_error: bool = False) -> None:
    """Store the result of a tool call."""
    with store.write(now) as tx:
        sessions.check(tx, claim)
        messages.change_block(tx, block_id, result=result, is_error=is_error)


def answer_with(
    store: Store, claim: Claim, block_id: str, execution_id: str, now: datetime, *, must: bool
) -> str | None:
    """Answer a tool call with its execution's result if that has ended, in one transaction with marking it continued.

    :param must: answer now, whatever the state (``running``, ``waits for approval``); its end is then told later.
    :returns: the result, or None where the execution has not ended and need not be answered yet.
    """
    with store.write(now) as tx:
        sessions.check(tx, claim)
        execution = executions.get(tx.c, execution_id)
        if execution.state in ENDED:
            result = telling.tool_result(execution, output.for_agent(tx.c, execution, TOLD_OUTPUT))
            if execution.continued_at is None:
                executions.change(tx, execution_id, continued_at=now)
        elif must:
            result = telling.outcome(execution)
        else:
            return None
        messages.change_block(tx, block_id, result=result, is_error=False)
        return result


def note_try(store: Store, claim: Claim, message_id: str, step: int, tries: int, now: datetime) -> None:
    """An attempt failed: take back what it showed, and count it, so that a crash does not reset the budget."""
    with store.write(now) as tx:
        sessions.check(tx, claim)
        _discard(tx, claim.session_id, message_id, step)
        messages.set_counts(tx, message_id, tries=tries, waits=messages.counts(tx.c, message_id)[1])


def put_off(store: Store, claim: Claim, message_id: str, moment: Moment, wait: float, notice: str) -> None:
    """Give the turn back for ``wait`` seconds: it stays open and goes on by itself. If Stop came first it ends here."""
    with store.write(moment.now) as tx:
        sessions.check(tx, claim)
        message = messages.get(tx.c, message_id)
        if sessions.work(tx.c, claim.session_id).stop_requested:
            close_turn(
                tx, message, MessageStatus.STOPPED, open_calls=telling.STOPPED_CALL, notice=STOPPED_NOTICE,
                code="stopped",
            )  # fmt: skip
            sessions.release(tx, claim, None)
            return
        drop_waiting_notice(tx, message)
        messages.add_block(tx, message_id, BlockKind.NOTICE, text=notice, code=WAITING_CODE)
        if message.status is MessageStatus.THINKING:
            messages.set_status(tx, message_id, MessageStatus.WORKING)
        messages.set_counts(tx, message_id, tries=0, waits=messages.counts(tx.c, message_id)[1] + 1)
        sessions.release(tx, claim, None)
        # What the operator wrote meanwhile does not wait: it supersedes this turn at once.
        spoken = messages.unanswered(tx.c, claim.session_id)
        sessions.make_due(tx, claim.session_id, wait=0.0 if spoken else wait, moment=moment)


def end(
    store: Store,
    claim: Claim,
    message_id: str,
    status: MessageStatus,
    ending: Ending,
    now: datetime,
    *,
    notice: str | None = None,
    code: str | None = None,
    open_calls: str | None = None,
) -> None:
    """End a turn and give its claim back.

    :param notice: words to the operator, in the same message. :param open_calls: the result that calls without one
        get, so that the history stays lawful.
    """
    with store.write(now) as tx:
        sessions.check(tx, claim)
        close_turn(tx, messages.get(tx.c, message_id), status, open_calls=open_calls, notice=notice, code=code)
        # Stop wrote its own ending; what the operator wrote after it has taken that back.
        stopped = sessions.work(tx.c, claim.session_id).stop_requested
        sessions.release(tx, claim, None if stopped else ending)
