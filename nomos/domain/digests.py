"""Digests: what binds an approval to the exact bytes that were shown, and to the machine that they go to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 (hex) over canonical JSON: sorted keys, no blanks, UTF-8. Lone surrogates stand as escapes."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def command_digest(
    session_id: str, identity: str, command: str, risk: str, *, plan_id: str | None = None, step: int | None = None
) -> str:
    """The digest of one command, as an approval card shows it and as it is checked again when it starts.

    :param identity: the digest of the host's ``Identity``. :param plan_id: the plan under whose window it runs, and
    :param step: the number (from 0) of the step that it is, where it is one.
    """
    return digest(
        {
            "kind": "command",
            "session": session_id,
            "host": identity,
            "command": command,
            "risk": risk,
            "plan": plan_id,
            "step": step,
        }
    )
