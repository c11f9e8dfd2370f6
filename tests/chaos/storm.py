"""Many sessions at work, and faults that come at random: worker, web and SSH are killed, frozen, cut off."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import text

from nomos.domain.sessions import SessionState
from tests.chaos import invariants
from tests.chaos.figures import Run
from tests.chaos.script import task
from tests.chaos.world import HOST, World, pulse, rows
from tests.harness.sshd import Sshd
from tests.harness.stack import Process

LEASE = 8.0  # seconds; signs of life come every 3
PATIENCE = 60.0  # seconds without any end of an execution


@dataclass(slots=True)
class Storm:
    """One run. ``workers``: how many at once; ``web``: the web process, with what it needs, where there is one."""

    world: World
    sshd: Sshd
    seed: int
    workers: int = 1
    web: Callable[[], Process] | None = None
    kills: int = 0
    cuts: int = 0
    stops: int = 0
    back: list[float] = field(default_factory=list)
    _web: Process | None = None

    def run(self, name: str, *, sessions: int, commands: int, kills: int, down: float) -> Run:
        """Let ``sessions`` run ``commands`` each, while ``kills`` or more kills happen, spread over all of it.

        ``down``: seconds that the SSH server is away once.
        """
        chance = random.Random(self.seed)
        began = time.monotonic()
        for _ in range(self.workers):
            self._start_worker()
        if self.web is not None:
            self._web = self.web()
        asked = self._ask(chance, sessions, commands)
        faults = [self._kill_worker] * 5 + [self._kill_all, self._cut, self._cut, self._freeze]
        faults += [self._kill_web] * (self.web is not None)
        apart = max(1, asked // (2 * kills))  # executions between two faults
        next_at, was_down, progress = apart, down == 0, self._progress()
        seen_at = time.monotonic()
        while not self.world.at_rest():
            self.world.approve()
            now = time.monotonic()
            if (present := self._progress()) != progress:
                progress, seen_at = present, now
            assert now - seen_at < PATIENCE, f"nothing goes on (seed {self.seed}):\n{self.world.told()}"
            if progress[0] >= next_at:
                if not was_down and self.kills >= kills // 2:
                    was_down = True
                    self._away(down)
                elif self.kills < kills:
                    chance.choice(faults)()
                next_at = self._progress()[0] + apart
            pulse(0.05)
        found = invariants.check(self.world.store, self.world.files)
        assert found.faults == [], f"seed {self.seed}: " + "\n".join(found.faults)
        assert found.executions >= asked
        extra = len(self.world.model.requests) - self.world.answers()
        self._end_web()
        return Run(name, found.executions, self.kills, self.cuts, self.stops, 0, extra, self.back,
                   time.monotonic() - began)  # fmt: skip

    def _ask(self, chance: random.Random, sessions: int, commands: int) -> int:
        for number in range(sessions):
            texts = [
                self.world.files.command(
                    f"{self.seed}-{number}-{each}", lines=chance.randrange(1, 40),
                    pause=chance.choice([0, 0, 0, 0.01, 0.03]), code=chance.choice([0, 0, 0, 1, 7]),
                )
                for each in range(commands)
            ]  # fmt: skip
            session_id = self.world.open_session()
            self.world.say(session_id, task(HOST, texts, at_once=1 + number % 3))
        return sessions * commands

    def _progress(self) -> tuple[int, ...]:
        """Executions that have ended, answers, sessions that are done."""
        (row,) = rows(
            self.world.store, "SELECT (SELECT count(*) FROM executions WHERE ended_at IS NOT NULL),"
            " (SELECT count(*) FROM answers), (SELECT count(*) FROM sessions WHERE state = :done)",
            done=str(SessionState.DONE),
        )  # fmt: skip
        return tuple(row)

    def _start_worker(self) -> None:
        self.world.start_worker(CHAOS_LEASE=str(LEASE))

    def _living(self) -> list[int]:
        return [index for index, worker in enumerate(self.world.workers) if worker.alive]

    def _kill_worker(self) -> None:
        """Kill one, start another, and see how long it takes until something is stored again."""
        index = self._living()[0]
        self.world.workers.pop(index).kill()
        self.kills += 1
        before, killed = self._seq(), time.monotonic()
        self._start_worker()
        if self.workers > 1:
            return
        while self._seq() < before + 3 and not self.world.at_rest():
            assert time.monotonic() - killed < PATIENCE, f"not back (seed {self.seed}):\n{self.world.told()}"
            self.world.approve()
            pulse(0.02)
        self.back.append(time.monotonic() - killed)

    def _seq(self) -> int:
        with self.world.store.read() as c:
            return int(c.execute(text("SELECT seq FROM journal_head")).scalar_one())

    def _kill_web(self) -> None:
        if self._web is not None and self.web is not None:
            self._web.kill()
            self.kills += 1
            self._web = self.web()

    def _kill_all(self) -> None:
        for index in reversed(self._living()):
            self.world.workers.pop(index).kill()
            self.kills += 1
        self._kill_web()
        for _ in range(self.workers):
            self._start_worker()

    def _cut(self) -> None:
        self.cuts += self.sshd.kill_connections()

    def _freeze(self) -> None:
        """Freeze one past its lease: what it writes afterwards must be refused."""
        self.stops += 1
        worker = self.world.workers[self._living()[0]]
        worker.send(signal.SIGSTOP)
        until = time.monotonic() + LEASE + 2
        while time.monotonic() < until:
            self.world.approve()
            pulse(0.1)
        worker.send(signal.SIGCONT)

    def _away(self, seconds: float) -> None:
        self.sshd.stop()
        self.cuts += 1
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.world.approve()
            pulse(0.1)
        self.sshd.start()

    def _end_web(self) -> None:
        if self._web is not None:
            self._web.stop()


def web_process(world: World, port: int) -> Process:
    """The web process over a world's database."""
    environment = {
        "PATH": os.environ["PATH"], "NOMOS_HOME": str(world.home), "DATABASE_URL": world.url,
        "NOMOS_BIND": f"127.0.0.1:{port}", "NOMOS_REHEARSAL": "off",
    }  # fmt: skip
    return Process("web", environment, Path(world.home / "web.log"))
