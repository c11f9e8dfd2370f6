"""A long session, as it stands in the store after many turns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from nomos.domain.messages import BlockKind, MessageStatus, Origin, Role
from nomos.domain.replies import Reply
from nomos.rehearsal.model.protocol import call_block, text_block
from nomos.store import messages, sessions
from nomos.store.engine import Store
from nomos.store.transaction import Tx

MESSAGES = 1000
_ASKED = "Is everything all right on the practice host? Look at its load, its disks and its containers, please."
_SAID = "I look at the hosts that I know first, then at load and disks, and say what I found.\n\n" * 3
_RESULT = '{"name": "practice", "state": "reachable", "system": "Linux 6.17 x86_64", "user": "root"}\n' * 6


def long_session(store: Store, now: datetime) -> str:
    """Store a session of 1,000 messages, half of them turns of two answers with one tool call. Returns its id.

    One transaction, below the actions: a turn at a time would wait for the disk two thousand times before anything is
    measured. The rows are those that turns leave, without the journal's entries about them, which no figure reads.
    """
    with store.write(now) as tx:
        session_id = sessions.add(tx, "A long session").id
        for _ in range(MESSAGES // 2):
            messages.add(tx, session_id, Role.OPERATOR, Origin.OPERATOR, text=_ASKED)
            _turn(tx, messages.add(tx, session_id, Role.AGENT, Origin.OPERATOR).id)
        tx.records.clear()
    return session_id


def _turn(tx: Tx, message_id: str) -> None:
    call = call_block("list_hosts", {})
    _answer(tx, message_id, 0, [text_block(_SAID), call], "tool_use")
    _answer(tx, message_id, 1, [text_block(_SAID)], "end_turn")
    messages.add_block(tx, message_id, BlockKind.TEXT, step=0, text=_SAID)
    block = messages.add_block(
        tx, message_id, BlockKind.TOOL_CALL, step=0, name="list_hosts", call_id=str(call["id"]), input_={}
    )
    messages.change_block(tx, block.id, result=_RESULT)
    messages.add_block(tx, message_id, BlockKind.TEXT, step=1, text=_SAID)
    messages.set_status(tx, message_id, MessageStatus.DONE)


def _answer(tx: Tx, message_id: str, step: int, blocks: list[Mapping[str, Any]], stop_reason: str) -> None:
    messages.add_answer(tx, message_id, step, Reply(tuple(blocks), stop_reason, True, "bench"), None)
