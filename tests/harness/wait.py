"""Waiting for a condition, so that no test sleeps for a guessed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(condition: Callable[[], T | None], timeout: float = 10, what: str = "the condition") -> T:
    """Ask every 10 ms until ``condition()`` is true, and return what it returned. Fails after ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while True:
        if found := condition():
            return found
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout:g} s for {what}")
        time.sleep(0.01)
