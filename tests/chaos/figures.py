"""What the long form measured, and the page it writes. ``LONG``: whether this run is the long form."""

from __future__ import annotations

import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tests.chaos.matrix import Played

LONG = os.environ.get("CHAOS") == "long"
PAGE = Path(__file__).parents[2] / "docs" / "chaos.md"

_HEAD = """# Chaos

What `make chaos` found at its last long run: every fault is provoked on real processes (worker, web, sshd, SQLite,
PostgreSQL) and a model over real HTTP; afterwards the database and the host's own log are compared. A short form of
each test is a part of `make test`. How it is done: `tests/chaos/`.

What must hold, and is checked after each run: no command was started twice; every execution that was asked for has
ended, and the agent was told of its end exactly once; nothing is left running, thinking, due or claimed; stored output
is byte for byte what the command wrote, and exit codes are true; every request that the model got was lawful; the
journal has no gap; the database is sound.
"""


_MATRIX = """`kill -9` before and after the commit of every write of a story (a plan, a command that is waited for, one
that goes on beyond its turn, one that is cancelled, a question in between, the conclusion), and before and after every
start, follow, cancel and model call.
"""
_COLUMNS = (
    "| run | executions | kills | SSH cuts | freezes | faults | model calls made again "
    "| back after a kill, median / longest | took |"
)


@dataclass(slots=True)
class Run:
    """One random run."""

    name: str
    executions: int
    kills: int
    cuts: int
    stops: int
    faults: int
    extra_calls: int
    back: Sequence[float]
    seconds: float


@dataclass(slots=True)
class Figures:
    """Gathers what the tests of one run measured."""

    matrices: list[str] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    facts: list[str] = field(default_factory=list)

    def matrix(self, engine: str, results: Sequence[Played]) -> None:
        """One crash matrix."""
        died = sum(result.died for result in results)
        bad = sum(bool(result.faults) for result in results)
        extra = sum(result.extra_calls for result in results)
        self.matrices.append(f"| {engine} | {len(results)} | {died} | {bad} | {extra} |")

    def write(self) -> None:
        """Write the page."""
        PAGE.write_text("\n".join([*self._matrix(), *self._random(), *self._rest()]) + "\n")

    def _matrix(self) -> list[str]:
        return [
            _HEAD,
            f"Run on {datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores.\n",
            "## The crash matrix\n",
            _MATRIX,
            "| database | points | worker died | stories with a fault | model calls made again |",
            "|---|---|---|---|---|",
            *self.matrices,
        ]

    def _random(self) -> list[str]:
        lines = [
            "\n## At random\n",
            _COLUMNS,
            "|---|---|---|---|---|---|---|---|---|",
        ]
        for run in self.runs:
            back = f"{statistics.median(run.back):.1f} s / {max(run.back):.1f} s" if run.back else "–"
            lines.append(
                f"| {run.name} | {run.executions} | {run.kills} | {run.cuts} | {run.stops} | {run.faults} "
                f"| {run.extra_calls} | {back} | {run.seconds:.0f} s |"
            )
        return lines

    def _rest(self) -> list[str]:
        return ["\n## The rest\n", *(f"- {fact}" for fact in self.facts)]
