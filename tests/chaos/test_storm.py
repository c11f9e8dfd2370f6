"""Faults at random, while many sessions are at work."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.figures import LONG, Figures
from tests.chaos.storm import Storm, web_process
from tests.chaos.world import Databases, Nursery, World
from tests.harness.model_server import ScriptedModelServer
from tests.harness.sshd import Sshd, free_port

SETTINGS = {"NOMOS_SYNC_SECONDS": "0.5", "NOMOS_WORKERS": "12"}


@pytest.mark.timeout(3600 if LONG else 180)
@pytest.mark.parametrize(
    ("name", "engine", "workers"),
    [("one worker and web, SQLite", "sqlite", 1), ("two workers, SQLite", "sqlite", 2),
     ("two workers, PostgreSQL", "postgres", 2)],
)  # fmt: skip
def test_nothing_is_lost_doubled_or_stuck(
    name: str, engine: str, workers: int, nursery: Nursery, databases: Databases, model: ScriptedModelServer,
    chaos_folder: Path, sshd: Sshd, figures: Figures,
) -> None:  # fmt: skip
    home = chaos_folder / f"s{workers}{engine[0]}"
    home.mkdir()
    url = databases.postgres() if engine == "postgres" else databases.sqlite(home / "nomos.db")
    seed = random.SystemRandom().randrange(10**9)
    with World(nursery, model, home, url, SETTINGS) as world:
        port = free_port()
        web = (lambda: web_process(world, port)) if workers == 1 else None
        storm = Storm(world, sshd, seed, workers, web)
        if LONG:
            run = storm.run(name, sessions=8, commands=44, kills=40, down=20)
        else:
            run = storm.run(name, sessions=3, commands=5, kills=3, down=3 if workers == 1 else 0)
        figures.runs.append(run)
