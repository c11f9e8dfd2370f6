"""One write transaction: what is changed in it, and what the journal will say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row

from nomos.domain.audit import NOMOS, Deed, Who
from nomos.domain.events import Type

AnyRow = Row[Any]


@dataclass(slots=True)
class Record:
    """A journal entry to be: either growth with its own data, or a thing whose present state is read at the end."""

    type: Type
    about: str
    session_id: str | None = None
    host: str | None = None
    data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """A link of the audit to be: its number and hash are only known at the end of the transaction."""

    deed: Deed
    facts: Mapping[str, Any]
    session_id: str | None


@dataclass(slots=True)
class Tx:
    """An open write transaction. ``at`` is the wall time that everything in it carries, ``who`` makes the change."""

    c: Connection
    at: datetime
    who: Who = NOMOS
    deeds: list[Done] = field(default_factory=list)
    records: dict[tuple[Type, str, int], Record] = field(default_factory=dict)
    recorded: int = 0
    sessions: dict[str, None] = field(default_factory=dict)

    def touch(self, type_: Type, about: str) -> None:
        """Note that a thing changed: one entry with its state at the end of the transaction."""
        self.records.setdefault((type_, about, 0), Record(type_, about))

    def touch_session(self, session_id: str) -> None:
        """Note that something a session's state depends on may have changed."""
        self.sessions.setdefault(session_id)

    def record(
        self, type_: Type, about: str, data: dict[str, Any], *, session_id: str | None, host: str | None = None
    ) -> None:
        """Add an entry that carries its own data: growth, or something that is no longer there."""
        self.recorded += 1
        self.records[type_, about, self.recorded] = Record(type_, about, session_id, host, data)

    def record_removal(
        self, type_: Type, about: str, data: dict[str, Any], *, session_id: str | None, host: str | None = None
    ) -> None:
        """Add the entry of a thing that is gone. Its state can no longer be read, so no earlier touch asks for it."""
        self.records.pop((type_, about, 0), None)
        self.record(type_, about, data, session_id=session_id, host=host)

    def audit(self, deed: Deed, facts: Mapping[str, Any], *, session_id: str | None = None) -> None:
        """Add a link to the audit: it is written with the change that it speaks of, or neither is."""
        self.deeds.append(Done(deed, facts, session_id))
