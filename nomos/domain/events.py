"""The feed's event types, and the envelope each event travels in (CloudEvents 1.0, JSON)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from nomos.domain.shapes import time


class Type(StrEnum):
    """What an event tells. All but the two that grow carry the present state of one thing: replace by id if newer."""

    SESSION_CHANGED = "nomos.session.changed"
    MESSAGE_CHANGED = "nomos.message.changed"  # with all its blocks
    MESSAGE_DELTA = "nomos.message.delta"  # text that grows; offset counts code points of the block's text
    BLOCK_CHANGED = "nomos.block.changed"  # removed: true takes it out again
    EXECUTION_CHANGED = "nomos.execution.changed"
    EXECUTION_OUTPUT = "nomos.execution.output"  # output that grows; offset and end count bytes as stored
    APPROVAL_CHANGED = "nomos.approval.changed"
    PLAN_CHANGED = "nomos.plan.changed"
    WINDOW_CHANGED = "nomos.window.changed"
    HOST_CHANGED = "nomos.host.changed"


GROWING = frozenset({Type.MESSAGE_DELTA, Type.EXECUTION_OUTPUT})


@dataclass(frozen=True, slots=True)
class Entry:
    """One journal entry. ``about`` is the id of the thing; ``session_id`` and ``host`` serve filters."""

    seq: int
    type: Type
    about: str
    session_id: str | None
    host: str | None
    at: datetime
    data: dict[str, Any]


def envelope(entry: Entry, epoch: str, source: str) -> dict[str, Any]:
    """The entry as a CloudEvents 1.0 object. ``source`` is the address under which this Nomos is reached."""
    kind = entry.type.split(".")[1]
    return {
        "specversion": "1.0",
        "id": f"{epoch}.{entry.seq}",
        "source": source,
        "type": entry.type,
        "subject": f"{kind}s/{entry.about}",
        "time": time(entry.at),
        "datacontenttype": "application/json",
        "data": entry.data,
    }
