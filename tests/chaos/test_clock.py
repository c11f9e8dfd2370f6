"""A wall clock that is set under a worker: it goes on polling, leases stand, and no window stays open for longer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.chaos import invariants
from tests.chaos.figures import Figures
from tests.chaos.script import task
from tests.chaos.world import HOST, ROOT, Databases, Nursery, World, rows
from tests.harness.model_server import ScriptedModelServer
from tests.harness.wait import wait_for

SOON = 10.0  # seconds


def library() -> Path:
    found = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    assert found is not None, "libfaketime is missing: scripts/setup test installs the package faketime"
    return found


@contextmanager
def worker_with_own_clock(world: World, offset: Path) -> Iterator[int]:
    """A worker as ``nomos worker`` starts one; its wall clock is off by what the file says. Gives its pid."""
    environment = {
        **world.environment,
        "LD_PRELOAD": str(library()),
        "FAKETIME_TIMESTAMP_FILE": str(offset),
        "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    with world.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "nomos", "worker"], cwd=ROOT, env=environment, stdout=log, stderr=log,
            stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    try:
        yield process.pid
        assert process.poll() is None, world.told()
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_a_clock_that_is_set_stops_nothing_and_prolongs_nothing(
    nursery: Nursery, databases: Databases, model: ScriptedModelServer, chaos_folder: Path, figures: Figures
) -> None:
    with ThreadPoolExecutor(2) as pool:
        for told in [pool.submit(set_clock, hours, nursery, databases, model, chaos_folder) for hours in (1, -1)]:
            figures.facts.append(told.result())


def set_clock(
    hours: int, nursery: Nursery, databases: Databases, model: ScriptedModelServer, chaos_folder: Path
) -> str:
    """Set a worker's clock by some hours while a command runs. Returns what was seen."""
    home = chaos_folder / f"c{hours}"
    home.mkdir()
    offset = home / "offset"
    offset.write_text("+0")
    url = databases.sqlite(home / "nomos.db")
    # Without hints: only polling shows whether the clock's step stopped it.
    with World(nursery, model, home, url, {"NOMOS_SYNC_SECONDS": "0.3"}, hints=False) as world, \
            worker_with_own_clock(world, offset):  # fmt: skip
        gate = home / "gate"
        session_id = world.open_session()
        world.say(session_id, task(HOST, [world.files.command("slow", lines=1, gate=gate)]))

        def state_is(*wanted: str) -> bool:
            return bool(rows(world.store, "SELECT state FROM sessions")[0][0] in wanted)

        def is_(state: str) -> bool:
            return state in {row[0] for row in rows(world.store, "SELECT state FROM executions")}

        wait_for(lambda: state_is("waiting"), 30, "the plan")
        world.approve()
        wait_for(lambda: is_("running"), 30, "the command")
        wait_for(
            lambda: not rows(world.store, "SELECT 1 FROM sessions WHERE claim_owner IS NOT NULL"), 30, "the turn's end"
        )

        offset.write_text(f"{hours * 3600:+d}")
        turns = len(rows(world.store, "SELECT 1 FROM messages WHERE role = 'agent' AND status = 'done'"))
        world.say(session_id, "How is it going?", "question")
        wait_for(
            lambda: len(rows(world.store, "SELECT 1 FROM messages WHERE role = 'agent' AND status = 'done'")) > turns,
            SOON, "an answer after the step",
        )  # fmt: skip

        gate.touch()
        wait_for(lambda: is_("succeeded"), SOON, "the command's end")
        wait_for(lambda: state_is("parked"), SOON, f"the session to be parked: the window is over\n{world.told()}")
        assert rows(world.store, "SELECT claim FROM executions")[0][0] == 1, "its lease did not stand"

        offset.write_text("+0")
        world.say(session_id, "Go on.", "on")
        wait_for(world.at_rest, SOON + 10, f"the end\n{world.told()}")
        assert invariants.check(world.store, world.files).faults == []
    return (
        f"The wall clock set by {hours:+d} h under a worker, no hints: it answered within {SOON:.0f} s, the lease of "
        "its running command stood, and the assent window was not open for longer: the session waited for the operator."
    )
