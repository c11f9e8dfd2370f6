"""Hosts: machines in the inventory."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from nomos.domain.digests import digest
from nomos.errors import InvalidInput


class HostState(StrEnum):
    """How the last contact went."""

    UNTRUSTED = "untrusted"  # its key is not trusted yet
    UNTESTED = "untested"
    REACHABLE = "reachable"
    UNREACHABLE = "unreachable"
    KEY_CHANGED = "key_changed"


@dataclass(frozen=True, slots=True)
class Identity:
    """Which machine a command goes to, and as whom: what an approval binds of a host.

    ``host_key`` is the trusted key as ``"<type> <base64>"`` and ``fingerprint`` its digest; None where none is trusted.
    """

    id: str
    name: str
    user: str
    address: str
    port: int
    host_key: str | None
    fingerprint: str | None

    @property
    def digest(self) -> str:
        """What stands for all of it in other digests, and in a window."""
        return digest(
            {
                "id": self.id,
                "name": self.name,
                "user": self.user,
                "address": self.address,
                "port": self.port,
                "host_key": self.host_key,
            }
        )

    def changes(self, now: Identity) -> tuple[str, ...]:
        """What is different ``now``, in words for the operator; nothing where it is the same machine and user."""
        key = f"its host key was {self.fingerprint or 'not trusted'} and is {now.fingerprint or 'not trusted'} now"
        there = f"its address was {self.address}:{self.port} and is {now.address}:{now.port} now"
        found = (
            (self.id != now.id, "it is another entry of the inventory"),
            ((self.address, self.port) != (now.address, now.port), there),
            (self.user != now.user, f"its user was {self.user} and is {now.user} now"),
            (self.host_key != now.host_key, key),
        )
        return tuple(f"{self.name}: {words}" for differs, words in found if differs)


@dataclass(frozen=True, slots=True)
class Host:
    """One machine. ``host_key`` is the trusted key as ``"<type> <base64>"``, ``fingerprint`` its digest.

    ``offered_fingerprint`` is that of a key it showed and that nobody has trusted yet.
    """

    id: str
    name: str
    address: str
    port: int
    user: str
    state: HostState
    created_at: datetime
    key_path: str | None = None
    host_key: str | None = None
    fingerprint: str | None = None
    offered_fingerprint: str | None = None
    job_base: str | None = None
    boot: str | None = None
    system: str | None = None
    latency_ms: float | None = None
    detail: str | None = None
    checked_at: datetime | None = None
    testing: bool = False
    practice: bool = False
    interpreter: str | None = None

    @property
    def identity(self) -> Identity:
        """What an approval binds of it."""
        return Identity(self.id, self.name, self.user, self.address, self.port, self.host_key, self.fingerprint)


def parse_address(text: str) -> tuple[str, str, int]:
    """Split ``USER@ADDRESS[:PORT]`` (IPv6 in brackets) into user, address and port (22 if none is given).

    :raises InvalidInput: it has another form; a leading ``-`` would be read as an option further on.
    """
    match = re.fullmatch(
        r"([A-Za-z0-9_][A-Za-z0-9_.$-]{0,31})@(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_][A-Za-z0-9_.-]{0,252})(?::([0-9]{1,5}))?",
        text,
    )
    if not match or not 0 < int(match[3] or 22) < 65536:
        raise InvalidInput("address: must look like root@192.168.1.10 or root@nas:2222.", field="address")
    return match[1], match[2].strip("[]"), int(match[3] or 22)


def check_name(name: str) -> str:
    """Return ``name`` if a host may be called so.

    :raises InvalidInput: it may not.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,62}", name):
        raise InvalidInput("name: small letters, digits, dot, dash and underline only, 63 at most.", field="name")
    return name
