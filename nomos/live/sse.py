"""Server-sent events as bytes. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

OPENING = b"retry: 2000\n: nomos\n\n"
BEAT = b": beat\n\n"


def event(id_: str, data: Mapping[str, Any]) -> bytes:
    """An event of the journal: unnamed, so that readers who hear only ``message`` hear it; one line of JSON."""
    return f"id: {id_}\ndata: {_line(data)}\n\n".encode()


def control(name: str, data: Mapping[str, Any]) -> bytes:
    """A control frame: named, without an id, so that it never becomes a cursor."""
    return f"event: {name}\ndata: {_line(data)}\n\n".encode()


def _line(data: Mapping[str, Any]) -> str:
    # Escaped to ASCII: a lone surrogate cannot be encoded, and some readers break lines at U+2028.
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"))
