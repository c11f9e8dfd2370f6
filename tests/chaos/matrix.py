"""The story that the crash matrix is played on: a plan, a command that is waited for, two that are not, their ends."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nomos.actions import executions as execution_actions
from nomos.domain.executions import ENDED, Execution, State
from nomos.errors import Conflict
from nomos.store import executions
from tests.chaos import invariants
from tests.chaos.script import task
from tests.chaos.world import HOST, Databases, Nursery, World, pulse
from tests.harness.model_server import ScriptedModelServer

PATIENCE = 60.0  # seconds a story may take
# How often these happen depends on how fast things go: their second time is not sure to come.
_TIMED = re.compile(r"^(growth\.commit|workers\.beat|turns\.beat|Shell\.follow|actions\.note)|\| begun")
_MOST_TIMED = 2


@dataclass(slots=True)
class Played:
    """One story: whether its worker died, every fault, and how many calls of the model were made in vain."""

    at: str
    died: bool
    faults: list[str]
    extra_calls: int
    seconds: float


@dataclass(slots=True)
class Stage:
    """Plays stories."""

    nursery: Nursery
    databases: Databases
    model: ScriptedModelServer
    folder: Path
    postgres: bool = False
    played: int = 0

    def play(self, at: str = "", *, note_points: bool = False) -> tuple[Played, list[str]]:
        """Play the story with a worker that dies at a point. Returns how it went, and the points passed."""
        self.played += 1
        home = self.folder / f"w{self.played}{'p' if self.postgres else ''}"
        home.mkdir()
        url = self.databases.postgres() if self.postgres else self.databases.sqlite(home / "nomos.db")
        began = time.monotonic()
        with World(self.nursery, self.model, home, url, {"NOMOS_SYNC_SECONDS": "0.4"}) as world:
            more = {"CHAOS_POINTS": str(home / "points")} if note_points else {}
            faults = _story(world, at, more)
            died = world.restarts > 0
            asked = sum(home.name in str(request["messages"][0]) for request in self.model.requests)
            result = Played(at, died, faults, asked - world.answers(), time.monotonic() - began)
            return result, world.points


def chosen(points: Iterable[str]) -> list[str]:
    """The points worth dying at: each one, of those that happen as often as they like only the first two times."""
    found = []
    for point in dict.fromkeys(points):
        name, _, number = point.rpartition("#")
        if not _TIMED.search(name) or int(number) <= _MOST_TIMED:
            found.append(point)
    return found


def _story(world: World, at: str, more: dict[str, str]) -> list[str]:
    gate = world.home / "gate"
    first = world.files.command("first", code=0)
    second = world.files.command("second", lines=1, code=3, gate=gate)
    third = world.files.command("third", lines=1, gate=world.home / "never")
    session_id = world.open_session()
    world.start_worker(at, **more)
    world.say(session_id, f"{task(HOST, [first, second], endless=[third])} ({world.home.name})")
    deadline = time.monotonic() + PATIENCE
    while not world.at_rest():
        if time.monotonic() > deadline:
            return [f"not at rest after {PATIENCE:.0f} s:\n{world.told()}"]
        world.keep_alive()
        world.approve()
        _act(world, session_id, gate, {second: "second", third: "third"})
        pulse()
    return invariants.check(world.store, world.files).faults


def _act(world: World, session_id: str, gate: Path, names: dict[str, str]) -> None:
    """What the operator does: end the third, ask in between, and let the second end."""
    with world.store.read() as c:
        found: dict[str, Execution] = {}
        for each in executions.of_session(c, session_id):
            if each.command in names:
                found[names[each.command]] = each
    third, second = found.get("third"), found.get("second")
    if third is None or second is None:
        return
    if third.state is State.RUNNING and third.cancel_requested_at is None and second.state is State.RUNNING:
        try:
            execution_actions.cancel(world.store, third.id, world.clock.now(), by="ada")
        except Conflict:
            return
    if third.state in ENDED and not gate.exists():
        world.say(session_id, "How is it going?", "question")
        gate.touch()
