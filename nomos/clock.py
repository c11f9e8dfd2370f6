"""Clocks. Wall time is for people, boot time is for leases; nothing under ``actions`` reads either."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Moment:
    """One instant on both clocks: ``now`` for people, ``ticks`` (seconds) since ``boot`` for leases."""

    now: datetime
    ticks: float
    boot: str


class Clock(Protocol):
    """Tells the time in two ways."""

    def moment(self) -> Moment:
        """This instant on both clocks."""
        ...

    def now(self) -> datetime:
        """Wall time, aware, in UTC: what people read. May jump."""
        ...

    def ticks(self) -> float:
        """Seconds since this machine booted, suspend included: never jumps, the same in all its processes."""
        ...

    def boot(self) -> str:
        """Which boot ``ticks`` counts from."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def __init__(self) -> None:
        boot_id = Path("/proc/sys/kernel/random/boot_id")
        self._boot = boot_id.read_text().strip() if boot_id.exists() else "this-boot"

    def moment(self) -> Moment:
        return Moment(self.now(), self.ticks(), self._boot)

    def now(self) -> datetime:
        return datetime.now(UTC)

    def ticks(self) -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def boot(self) -> str:
        return self._boot


class SettableClock:
    """A clock that moves only when told to; for tests."""

    def __init__(self, now: datetime | None = None) -> None:
        self._now = now or datetime(2026, 12, 1, 13, 0, tzinfo=UTC)
        self._ticks = 1000.0
        self._boot = "boot-1"

    def moment(self) -> Moment:
        return Moment(self._now, self._ticks, self._boot)

    def now(self) -> datetime:
        return self._now

    def ticks(self) -> float:
        return self._ticks

    def boot(self) -> str:
        return self._boot

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass on both clocks."""
        self._now += timedelta(seconds=seconds)
        self._ticks += seconds

    def step(self, seconds: float) -> None:
        """Set the wall clock forward or back, as an operator or NTP does; boot time goes on."""
        self._now += timedelta(seconds=seconds)

    def reboot(self) -> None:
        """Begin another boot."""
        self._boot += "'"
        self._ticks = 1.0
