"""Closing a turn: no call stays open, so that the history stays lawful and the page shows no work that nobody does."""

from __future__ import annotations

from nomos.domain import telling
from nomos.domain.messages import Block, BlockKind, Message, MessageStatus
from nomos.store import executions, messages
from nomos.store.transaction import Tx

WAITING_CODE = "model_waits"
STOPPED_NOTICE = "Stopped by you."


def close_turn(
    tx: Tx, message: Message, status: MessageStatus, *, open_calls: str | None, notice: str | None, code: str | None
) -> None:
    """Give each open call a result (``open_calls`` where nothing else is known), add the notice, set the status."""
    drop_waiting_notice(tx, message)
    for block in message.blocks:
        if block.kind is BlockKind.TOOL_CALL and block.result is None and open_calls is not None:
            messages.change_block(tx, block.id, result=_result(tx, block, open_calls), is_error=True)
    if notice is not None:
        messages.add_block(tx, message.id, BlockKind.NOTICE, text=notice, code=code)
    messages.set_status(tx, message.id, status)


def drop_waiting_notice(tx: Tx, message: Message) -> None:
    """Take back that the model is waited for."""
    waiting = [block for block in message.blocks if block.kind is BlockKind.NOTICE and block.code == WAITING_CODE]
    messages.remove_blocks(tx, message.session_id, waiting)


def _result(tx: Tx, block: Block, words: str) -> str:
    """What an open call is closed with: its execution's true state where it has one."""
    if block.execution_id is None:
        return words
    return f"{telling.outcome(executions.get(tx.c, block.execution_id))}. {telling.CUT_SHORT_CALL}"
