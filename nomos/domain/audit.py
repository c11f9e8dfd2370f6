"""The audit: what was done, by whom, by which route and from where, as a chain in which each link binds the one before.

Pure: this module makes and checks links; ``store.audit`` keeps them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

START = "0" * 64  # what the first link is bound to


class Kind(StrEnum):
    """What sort of actor did it."""

    OPERATOR = "operator"  # signed in at the page, or whoever may run the command line
    TOKEN = "token"  # noqa: S105 - a word, no secret
    NOMOS = "nomos"  # by itself: a turn, the worker, the poller
    NOBODY = "nobody"  # not signed in


class Deed(StrEnum):
    """What was done."""

    APPROVAL_DECIDED = "approval_decided"
    APPROVAL_EDITED = "approval_edited"
    APPROVAL_WITHDRAWN = "approval_withdrawn"
    WINDOW_OPENED = "window_opened"
    WINDOW_EXTENDED = "window_extended"
    WINDOW_REVOKED = "window_revoked"
    WINDOW_ENDED = "window_ended"
    EXECUTION_QUEUED = "execution_queued"
    EXECUTION_STARTED = "execution_started"
    EXECUTION_ENDED = "execution_ended"
    CANCEL_ASKED = "cancel_asked"
    INPUT_GIVEN = "input_given"
    HOST_ADDED = "host_added"
    HOST_TRUSTED = "host_trusted"
    HOST_REMOVED = "host_removed"
    USER_ADDED = "user_added"
    TOKEN_ADDED = "token_added"  # noqa: S105 - a word, no secret
    SIGNED_IN = "signed_in"
    SIGNED_OUT = "signed_out"
    SIGN_IN_FAILED = "sign_in_failed"


@dataclass(frozen=True, slots=True)
class Who:
    """Who acts. ``route``: ``page``, ``api``, ``cli`` or ``worker``. ``address``: where the request came from."""

    kind: Kind
    name: str
    route: str
    address: str | None = None


NOMOS = Who(Kind.NOMOS, "nomos", "worker")


@dataclass(frozen=True, slots=True)
class Entry:
    """One link. ``content`` is the canonical JSON that ``hash`` covers, ``previous`` the hash of the link before."""

    seq: int
    at: datetime
    deed: str
    session_id: str | None
    content: str
    previous: str
    hash: str


def canonical(content: Mapping[str, Any]) -> str:
    """JSON with sorted keys and no blanks, in ASCII: the same content always has the same bytes."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def seal(previous: str, content: str) -> str:
    """SHA-256 (hex) of the hash before and the canonical content."""
    return hashlib.sha256(f"{previous}{content}".encode("ascii")).hexdigest()


def link(
    seq: int, previous: str, at: datetime, who: Who, deed: Deed, facts: Mapping[str, Any], session_id: str | None
) -> Entry:
    """The link that says ``deed`` with its ``facts``, bound to the hash of the link before."""
    content = canonical(
        {
            "seq": seq,
            "at": at.isoformat(),
            "who": who.kind,
            "name": who.name,
            "route": who.route,
            "address": who.address,
            "deed": deed,
            "session": session_id,
            "facts": facts,
        }
    )
    return Entry(seq, at, deed.value, session_id, content, previous, seal(previous, content))


@dataclass(frozen=True, slots=True)
class Break:
    """Where the chain is broken, and how."""

    seq: int
    why: str


class Checker:
    """Walks a chain link by link and finds the first that does not hold. ``seq`` and ``hash``: where it stands."""

    def __init__(self) -> None:
        self.seq = 0
        self.hash = START

    def take(self, entry: Entry) -> Break | None:
        """Look at the next link; says what is wrong with it, None if nothing is."""
        seq = self.seq + 1
        if entry.seq != seq:
            return Break(seq, f"entry {seq} is missing; the next one there is {entry.seq}")
        if entry.previous != self.hash:
            return Break(seq, f"entry {seq} is not bound to the one before it")
        if not entry.content.isascii() or seal(entry.previous, entry.content) != entry.hash:
            return Break(seq, f"entry {seq} was changed: its content does not fit its hash")
        if not _told_alike(entry):
            return Break(seq, f"entry {seq} was changed: its columns do not fit its content")
        self.seq, self.hash = entry.seq, entry.hash
        return None

    def end(self, seq: int, hash_: str) -> Break | None:
        """Compare the last link with where the chain's head says that it ends."""
        if (seq, hash_) == (self.seq, self.hash):
            return None
        if seq > self.seq:
            return Break(self.seq + 1, f"entry {self.seq + 1} is missing: the chain should reach to {seq}")
        return Break(seq, f"the chain's head says {seq} with another hash than entry {self.seq} has")


def _told_alike(entry: Entry) -> bool:
    try:
        content = json.loads(entry.content)
    except ValueError:
        return False
    told = (content.get("seq"), content.get("at"), content.get("deed"), content.get("session"))
    return told == (entry.seq, entry.at.isoformat(), entry.deed, entry.session_id)
