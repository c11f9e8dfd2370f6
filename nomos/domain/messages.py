"""Messages and their blocks: the timeline of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any


class Role(StrEnum):
    """Whose entry it is."""

    OPERATOR = "operator"
    AGENT = "agent"
    EVENT = "event"


class Origin(StrEnum):
    """What set a turn going."""

    OPERATOR = "operator"
    CONTINUATION = "continuation"  # executions ended
    DECISION = "decision"  # an approval was decided
    SCHEDULE = "schedule"
    RECOVERY = "recovery"  # a turn was cut by a crash


class MessageStatus(StrEnum):
    """How far an agent message (one turn) has come; every other message is ``done`` from the start."""

    THINKING = "thinking"  # the placeholder: nothing has come yet
    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


TRANSITIONS: Mapping[MessageStatus, frozenset[MessageStatus]] = {
    MessageStatus.THINKING: frozenset(
        {MessageStatus.WORKING, MessageStatus.DONE, MessageStatus.FAILED, MessageStatus.STOPPED}
    ),
    MessageStatus.WORKING: frozenset({MessageStatus.DONE, MessageStatus.FAILED, MessageStatus.STOPPED}),
    MessageStatus.DONE: frozenset(),
    MessageStatus.FAILED: frozenset(),
    MessageStatus.STOPPED: frozenset(),
}

OPEN = frozenset({MessageStatus.THINKING, MessageStatus.WORKING})


class BlockKind(StrEnum):
    """What a block holds."""

    TEXT = "text"
    THINKING = "thinking"
    TOOL_CALL = "tool_call"
    NOTICE = "notice"  # Nomos's own words to the operator; never sent to the model


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a message.

    ``step`` is the answer of the model within the turn that it belongs to (0, 1, …). ``code`` names a notice or an
    event. ``call_id`` is the model's own id of a tool call; ``result`` its answer as the model gets it, None while
    it is open.
    """

    id: str
    message_id: str
    position: int
    kind: BlockKind
    step: int = 0
    text: str = ""
    code: str | None = None
    name: str | None = None
    call_id: str | None = None
    input: Mapping[str, Any] | None = None
    execution_id: str | None = None
    result: str | None = None
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """One accepted answer of the model within a turn: its raw blocks, as received, for every later replay.

    ``nudge`` is what Nomos had added to the question to get it, if it had to ask again: the answer came after those
    words, so a replay without them would be another conversation.
    """

    message_id: str
    step: int
    content: tuple[Mapping[str, Any], ...]
    stop_reason: str
    nudge: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of a session's timeline. ``position`` orders entries within the session."""

    id: str
    session_id: str
    position: int
    role: Role
    origin: Origin
    status: MessageStatus
    created_at: datetime
    client_id: str | None = None
    blocks: tuple[Block, ...] = ()

    @property
    def text(self) -> str:
        """All its words."""
        return "".join(block.text for block in self.blocks if block.kind is BlockKind.TEXT)
