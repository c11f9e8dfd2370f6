"""Digests: what binds an approval to the exact bytes that were shown."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest(content: Mapping[str, Any]) -> str:
    """SHA-256 (hex) over canonical JSON: sorted keys, no blanks, UTF-8. Lone surrogates stand as escapes."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def command_digest(session_id: str, host: str, command: str, risk: str) -> str:
    """The digest of one command on one host, as an approval card shows it."""
    return digest({"session": session_id, "host": host, "command": command, "risk": risk})
