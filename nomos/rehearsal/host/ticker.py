"""``ticker N SECONDS``: lines that carry the time at which they were printed, so that their way can be measured."""

from __future__ import annotations

import re
import time

from .common import LONGEST_SLEEP
from .console import Console

MOST_LINES = 10_000


def ticker(console: Console, words: list[str]) -> int:
    """Print ``N`` lines, ``SECONDS`` apart, each CLOCK_MONOTONIC in seconds at the moment it is printed.

    That clock is the same for all processes of one machine. The pace of the practice host does not change the pauses:
    a measurement has to know them.
    """
    if len(words) != 3 or not all(re.fullmatch(r"\d{1,5}(\.\d{1,6})?", word, re.ASCII) for word in words[1:]):
        console.err("usage: ticker N SECONDS\n")
        return 2
    lines, pause = int(float(words[1])), float(words[2])
    if lines > MOST_LINES or lines * pause > LONGEST_SLEEP:
        console.err(f"ticker: here at most {MOST_LINES} lines and {LONGEST_SLEEP} seconds\n")
        return 2
    for number in range(lines):
        if number:
            time.sleep(pause)
        console.out(f"{time.monotonic():.6f}\n")
    return 0
