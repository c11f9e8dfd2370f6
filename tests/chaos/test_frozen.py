"""A worker that was frozen for longer than its lease: another goes on, and what the first still writes is refused."""

from __future__ import annotations

import signal
from pathlib import Path

from nomos.errors import StoreUnavailable
from tests.chaos import invariants
from tests.chaos.script import task
from tests.chaos.world import HOST, Databases, Nursery, Worker, World, rows
from tests.harness.model_server import ScriptedModelServer
from tests.harness.wait import wait_for

LEASE = "6"


def freeze_outside_a_transaction(world: World, worker: Worker) -> bool:
    """Freeze a worker. In the middle of a write it would keep everybody from writing: then let it go, and say so."""
    worker.send(signal.SIGSTOP)
    try:
        with world.store.write(world.clock.now()):
            return True
    except StoreUnavailable:
        worker.send(signal.SIGCONT)
        return False


def test_a_worker_that_was_frozen_past_its_lease_has_lost_its_command(
    nursery: Nursery, databases: Databases, model: ScriptedModelServer, chaos_folder: Path
) -> None:
    home = chaos_folder / "frozen"
    home.mkdir()
    gate = home / "gate"
    settings = {"NOMOS_SYNC_SECONDS": "0.3", "CHAOS_LEASE": LEASE}
    with World(nursery, model, home, databases.sqlite(home / "nomos.db"), settings) as world:

        def owner() -> str | None:
            found: list[str | None] = [row[0] for row in rows(world.store, "SELECT claim_owner FROM executions")]
            return found[0] if found else None

        first = world.start_worker()
        world.say(world.open_session(), task(HOST, [world.files.command("slow", lines=1, gate=gate)]))
        wait_for(lambda: rows(world.store, "SELECT 1 FROM approvals WHERE state = 'pending'"), 30, "the plan")
        world.approve()
        wait_for(lambda: rows(world.store, "SELECT 1 FROM executions WHERE state = 'running'"), 30, "the command")
        wait_for(lambda: not rows(world.store, "SELECT 1 FROM sessions WHERE claim_owner IS NOT NULL"), 20, "the turn")
        before = wait_for(owner, 10, "its owner")
        assert f"|{first.pid}|" in before

        second = world.start_worker()
        wait_for(lambda: freeze_outside_a_transaction(world, first), 60, "a moment to freeze it in")
        wait_for(lambda: f"|{second.pid}|" in (owner() or ""), 40, "the second to take over")
        first.send(signal.SIGCONT)
        gate.touch()
        wait_for(world.at_rest, 40, f"the end\n{world.told()}")
        assert first.alive
        assert second.alive
        assert rows(world.store, "SELECT claim FROM executions")[0][0] > 1
        assert invariants.check(world.store, world.files).faults == []
