"""Takes over what a worker of this machine left behind when it died: its leases need not be waited for."""

from __future__ import annotations

import os
from pathlib import Path

from nomos.actions import workers
from nomos.clock import Clock
from nomos.store import workers as signs
from nomos.store.engine import Store

LOOK_EVERY = 2.0  # seconds


def owner_name() -> str:
    """A name for this start of a worker, never used again: place, process, and when that process began."""
    return f"{place()}|{os.getpid()}|{_started(os.getpid())}"


def place() -> str:
    """Where a process number means the same process: this boot of this machine, and its space of numbers.

    The machine's name alone would not do: copies of a machine, and containers, often share it.
    """
    boot = Path("/proc/sys/kernel/random/boot_id")
    numbers = Path("/proc/self/ns/pid")
    parts = (boot.read_text().strip() if boot.exists() else "", str(numbers.stat().st_ino) if numbers.exists() else "")
    return f"{os.uname().nodename[:40]}-{'-'.join(parts)}"


def _started(pid: int) -> str | None:
    """When a process began, in the kernel's ticks; None if there is no such process (a zombie counts as none)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in {"Z", "X"} else fields[19]


def is_dead(owner: str) -> bool:
    """Whether it can be told from here that a worker is no longer there. False for workers of other places."""
    parts = owner.rsplit("|", 2)
    if len(parts) != 3 or parts[0] != place() or not parts[1].isdigit():
        return False
    return _started(int(parts[1])) != parts[2]


class Recovery:
    """Gives back the claims of dead workers, at the start and all the time."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._looked = float("-inf")

    def tick(self) -> None:
        """Look, at most every two seconds."""
        moment = self._clock.moment()
        if moment.ticks - self._looked < LOOK_EVERY:
            return
        self._looked = moment.ticks
        with self._store.read() as connection:
            owners = signs.owners(connection)
        for owner in owners:
            if is_dead(owner):
                workers.leave(self._store, owner, moment)
