"""The soul, and the whole request: stored history in, ``ModelRequest`` out. Pure but for reading one packaged file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from nomos.agent.tools import definitions
from nomos.agent.transcript import history
from nomos.domain.messages import Answer, Message
from nomos.llm.base import ModelRequest

SOUL = Path(__file__).with_name("soul.md")


@cache
def soul() -> str:
    """The system prompt. No clock and no state in it, so that its prefix stays the same."""
    return SOUL.read_text(encoding="utf-8").strip()


def build(messages: Sequence[Message], answers: Sequence[Answer], *, nudge: str | None = None) -> ModelRequest:
    """The request for the next answer. The same rows give the same bytes."""
    return ModelRequest(system=soul(), messages=history(messages, answers, nudge=nudge), tools=definitions())
