"""One answer of the model, as received."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that one answer cost; None where the server did not say (which is not the same as free)."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_creation_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The raw blocks of one answer, kept as received, and how it ended.

    ``complete`` is true only if ``message_stop`` was seen: a stream that ends cleanly half way raises nothing in the
    SDK (measured with 2.15). ``closed`` holds the indexes of blocks whose ``content_block_stop`` was seen.
    """

    content: tuple[Mapping[str, Any], ...]
    stop_reason: str | None
    complete: bool
    model: str
    usage: Usage = Usage()
    closed: frozenset[int] = frozenset()
    refusal: str | None = None
