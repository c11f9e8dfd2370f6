"""The traces of a running command were removed from its host: its outcome is unknown, and it is not run again."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.chaos.script import task
from tests.chaos.world import HOST, Databases, Nursery, World, rows
from tests.harness.model_server import ScriptedModelServer
from tests.harness.sshd import Sshd
from tests.harness.wait import wait_for


def test_a_job_whose_folder_is_gone_is_unknown_and_stays_so(
    nursery: Nursery, databases: Databases, model: ScriptedModelServer, chaos_folder: Path, sshd: Sshd
) -> None:
    home = chaos_folder / "traces"
    home.mkdir()
    gate = home / "gate"
    settings = {"NOMOS_SYNC_SECONDS": "0.3"}
    with World(nursery, model, home, databases.sqlite(home / "nomos.db"), settings) as world:

        def executions() -> list[str]:
            return [row[0] for row in rows(world.store, "SELECT state FROM executions")]

        world.start_worker()
        session_id = world.open_session()
        world.say(session_id, task(HOST, [world.files.command("traceless", gate=gate)]))
        wait_for(lambda: rows(world.store, "SELECT 1 FROM approvals WHERE state = 'pending'"), 30, "the plan")
        world.approve()
        wait_for(lambda: executions() == ["running"], 30, "the command")
        wait_for(lambda: not rows(world.store, "SELECT 1 FROM sessions WHERE claim_owner IS NOT NULL"), 20, "the turn")
        world.workers[-1].kill()
        (id_,) = [row[0] for row in rows(world.store, "SELECT id FROM executions")]
        shutil.rmtree(sshd.base / id_)
        world.start_worker()

        wait_for(world.at_rest, 30, f"the end\n{world.told()}")
        assert executions() == ["unknown"]
        assert world.files.started == [id_]
        told = [row[0] for row in rows(world.store, "SELECT text FROM blocks WHERE code = 'execution_ended'")]
        assert len(told) == 1
        assert "folder on the host is gone" in told[0]
        assert "check before you run anything again" in told[0]
        gate.touch()
