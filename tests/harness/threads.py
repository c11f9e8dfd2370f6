"""Many at once: run the same work in several threads that begin together, and hear of every fault."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def together(works: list[Callable[[], T]], timeout: float = 60) -> list[T | BaseException]:
    """Run all at once; returns what each returned or raised, in order."""
    gate = threading.Barrier(len(works))

    def run(work: Callable[[], T]) -> T | BaseException:
        gate.wait(timeout)
        try:
            return work()
        except Exception as error:  # noqa: BLE001 - handed to the caller
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(timeout) for future in [pool.submit(run, work) for work in works]]


def all_fine(works: list[Callable[[], T]], timeout: float = 60) -> list[T]:
    """Run all at once; raises what any raised."""
    results: list[T] = []
    for result in together(works, timeout):
        if isinstance(result, BaseException):
            raise result
        results.append(result)
    return results
