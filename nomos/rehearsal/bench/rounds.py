"""How often something is measured: as often as asked, or as the time allows."""

from __future__ import annotations

import time
from collections.abc import Iterator

ROUNDS = 20
SECONDS = 0.4  # that a round may take on average


def counted(rounds: int) -> Iterator[int]:
    """0, 1, … at most ``rounds`` numbers; on a machine so busy that they take too long fewer, but one at least."""
    deadline = time.monotonic() + rounds * SECONDS
    for number in range(rounds):
        if number and time.monotonic() > deadline:
            return
        yield number
