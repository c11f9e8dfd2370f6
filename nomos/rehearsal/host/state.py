"""What the practice host remembers: its containers, in one JSON file, and which ``pct`` calls were made.

Everything lies in one folder. A change takes an ``flock`` and replaces the file, so that a killed command leaves
either the old state or the new one; slow work is done outside of it, under a lock of the container's own.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypedDict

NODE = "pve1"
"""The Proxmox node's name."""

BRIDGES = frozenset({"vmbr0"})

TEMPLATES = {
    "debian-12-standard_12.7-1_amd64.tar.zst": 126_515_062,
    "alpine-3.22-default_20250617_amd64.tar.xz": 3_306_492,
}
"""Templates on storage ``local``: name -> bytes."""

STORAGES = {"local": frozenset({"iso", "vztmpl", "backup"}), "local-lvm": frozenset({"images", "rootdir"})}
"""Storages: name -> what they may hold. As a fresh Proxmox has them: ``local`` takes no container disks."""

LOCK_SECONDS = 10.0
"""How long a task waits for a container that another task works on (pct's own limit)."""


class Snapshot(TypedDict):
    """A snapshot: the configuration then, when (Unix time), and what for."""

    config: dict[str, str]
    time: float
    description: str


class Guest(TypedDict):
    """A container. ``started``: Unix time; ``upgradable``: how many packages an upgrade would replace."""

    status: str
    started: float
    config: dict[str, str]
    snapshots: dict[str, Snapshot]
    upgradable: int


class State(TypedDict):
    """The whole host. ``booted``: Unix time. Containers by id, as text because JSON keys are."""

    booted: float
    guests: dict[str, Guest]


class PctCall(NamedTuple):
    """One call: when (Unix time), the words after ``pct``, and the exit code (None: it never ended by itself)."""

    at: float
    words: list[str]
    exit_code: int | None


class _Line(TypedDict, total=False):
    time: float
    argv: list[str]
    exit: int


class Busy(Exception):
    """Another task has worked on this container for longer than ``LOCK_SECONDS``."""


class Practice:
    """The practice folder. Any number of processes may use one at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state = folder / "state.json"

    def read(self) -> State:
        """The present state; what a fresh host has if nothing was changed yet."""
        try:
            state: State = json.loads(self._state.read_text())
        except FileNotFoundError:
            return _fresh()
        return state

    @contextmanager
    def changing(self) -> Iterator[State]:
        """Hand out the state to change; what was changed is kept unless the block raises."""
        with (self.folder / "state.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self.read()
            yield state
            draft = self.folder / f"state.{os.getpid()}"
            draft.write_text(json.dumps(state, indent=1))
            draft.replace(self._state)

    @contextmanager
    def task(self, vmid: int) -> Iterator[None]:
        """Work on one container alone. Raises Busy. Killed processes lose the lock, as with pct."""
        with (self.folder / f"task.{vmid}.lock").open("w") as lock:
            deadline = time.monotonic() + LOCK_SECONDS
            while True:
                with suppress(BlockingIOError):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                if time.monotonic() > deadline:
                    raise Busy
                time.sleep(0.05)
            yield

    def note_begun(self, words: list[str]) -> float:
        """Log that a ``pct`` call begins; one line in ``pct.begun``. Returns its time, for ``note_ended``."""
        at = time.time()
        self._append("pct.begun", {"time": at, "argv": words})
        return at

    def note_ended(self, at: float, words: list[str], exit_code: int) -> None:
        """Log how the call ended; one line in ``pct.log``."""
        self._append("pct.log", {"time": at, "argv": words, "exit": exit_code})

    def calls(self) -> list[PctCall]:
        """Every ``pct`` call that ever began, in order. One that was killed, or still runs, has no exit code."""
        ended = {(line["time"], tuple(line["argv"])): line["exit"] for line in self._lines("pct.log")}
        begun = [(line["time"], line["argv"]) for line in self._lines("pct.begun")]
        return [PctCall(at, words, ended.get((at, tuple(words)))) for at, words in begun]

    def _append(self, name: str, entry: _Line) -> None:
        # one write to a file opened for appending: lines of several processes do not mix
        with (self.folder / name).open("ab", buffering=0) as log:
            log.write(json.dumps(entry).encode() + b"\n")

    def _lines(self, name: str) -> list[_Line]:
        path = self.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def _fresh() -> State:
    now = time.time()
    base = {"arch": "amd64", "cores": "1", "ostype": "debian", "swap": "512", "unprivileged": "1"}
    net = "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:{},ip=dhcp,type=veth"
    dns = base | {"hostname": "dns", "memory": "512", "rootfs": "local-lvm:vm-101-disk-0,size=4G", "onboot": "1"}
    media = base | {"hostname": "media", "memory": "2048", "rootfs": "local-lvm:vm-103-disk-0,size=16G"}
    dns["net0"], media["net0"] = net.format("4A:01:01"), net.format("4A:01:03")
    return {
        "booted": now - 12 * 86_400 - 11_040,
        "guests": {
            "101": {
                "status": "running",
                "started": now - 12 * 86_400,
                "config": dns,
                "snapshots": {},
                "upgradable": 14,
            },
            "103": {"status": "stopped", "started": 0.0, "config": media, "snapshots": {}, "upgradable": 31},
        },
    }
