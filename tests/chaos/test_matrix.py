"""The crash matrix: the same story, once for each point at which a worker can die, and once for all that must hold."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.chaos.figures import LONG, Figures
from tests.chaos.matrix import Played, Stage, chosen
from tests.chaos.world import Databases, Nursery
from tests.harness.model_server import ScriptedModelServer

SIDE_BY_SIDE = 2 * (os.cpu_count() or 1)  # a story mostly waits
MISSED = 0.2  # how many turns a story takes depends on how fast things go, so its last points are not sure to come
STRIDE = 8  # the short form tries each eighth point, others each time


@pytest.mark.timeout(3600 if LONG else 180)
@pytest.mark.parametrize("engine", ["sqlite", "postgres"] if LONG else ["sqlite"])
def test_a_worker_may_die_at_any_point(
    engine: str, nursery: Nursery, databases: Databases, model: ScriptedModelServer, chaos_folder: Path,
    figures: Figures,
) -> None:  # fmt: skip
    stage = Stage(nursery, databases, model, chaos_folder, postgres=engine == "postgres")
    whole, points = stage.play(note_points=True)
    assert whole.faults == []
    tried = chosen(points) if LONG else chosen(points)[os.getpid() % STRIDE :: STRIDE]
    with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
        results = list(pool.map(lambda point: stage.play(point)[0], tried))
    assert _words(result for result in results if result.faults) == ""
    missed = [result.at for result in results if not result.died]
    assert len(missed) <= len(tried) * MISSED, f"too few workers died: {missed}"
    figures.matrix(engine, results)


def _words(results: Iterable[Played]) -> str:
    return "\n\n".join(f"died at {result.at}: " + "\n".join(result.faults) for result in results)
