"""Whose claims may be given back: only those of a process that is known to be gone."""

from __future__ import annotations

import subprocess
import sys

from nomos.worker.recovery import is_dead, owner_name, place


def test_only_a_worker_of_this_very_place_is_seen_to_be_dead() -> None:
    child = subprocess.run(
        [sys.executable, "-c", "from nomos.worker.recovery import owner_name; print(owner_name())"], check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    dead = child.stdout.strip()
    assert is_dead(dead)
    assert not is_dead(owner_name())
    there, process = dead.split("|", 1)
    assert there == place()
    assert not is_dead(f"{there}0|{process}"), "a copy of this machine, or a container: its processes cannot be seen"
    assert not is_dead("no name of a worker")
