"""The Model protocol: one request in, pieces as they come, one reply out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from nomos.domain.replies import Reply


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What is sent: ``messages`` and ``tools`` in the Messages API's own shape. ``max_tokens`` bounds the answer."""

    system: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...]
    max_tokens: int = 8192


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the answer while it comes. ``index`` is the block's place in the answer.

    ``text`` and ``thinking`` pieces carry words to append. A ``tool_call`` piece comes once, when the call begins;
    its ``text`` is the tool's name, its input is only known from the reply.
    """

    index: int
    kind: Literal["text", "thinking", "tool_call"]
    text: str


class Model(Protocol):
    """Answers requests. Safe to call from many threads."""

    @property
    def name(self) -> str:
        """The model's name as the service knows it."""
        ...

    def stream(
        self,
        request: ModelRequest,
        on_piece: Callable[[Piece], None],
        stopped: Callable[[], bool],
        *,
        first_try: bool = True,
    ) -> Reply:
        """Ask, hand over pieces, and return the whole answer as received, judged by nobody yet.

        Raises ``ModelFault`` for whatever went wrong, and nothing else. ``stopped`` is asked at least twice a
        second, also while nothing comes; once it is true the call ends with ``FaultKind.STOPPED``. ``first_try``
        allows the SDK its own single retry; later tries of the same turn get none (one budget in all).
        """
        ...
