"""A practice host for tests: started on a folder of the test's own, with a key of its own."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from nomos.rehearsal.host.commands import host_commands
from nomos.rehearsal.host.interpreter import interpret
from nomos.rehearsal.host.server import PracticeHost
from nomos.rehearsal.host.state import Practice
from nomos.ssh.keys import KEY_NAME, ensure_key


class Ran(NamedTuple):
    """How a command text ended in the practice shell."""

    code: int
    out: str
    err: str


class Paper:
    """A console that writes to memory and works at once; ``worked`` adds up the seconds it was asked to work.

    ``lines`` are what is typed into it.
    """

    stdin = ""

    def __init__(self, *lines: str) -> None:
        self.lines = list(lines)
        self.outs: list[str] = []
        self.errs: list[str] = []
        self.worked = 0.0

    def out(self, text: str) -> None:
        self.outs.append(text)

    def err(self, text: str) -> None:
        self.errs.append(text)

    def read_line(self) -> str | None:
        return self.lines.pop(0) if self.lines else None

    def work(self, seconds: float) -> None:
        self.worked += seconds


def run_in_practice_shell(folder: Path, text: str, paper: Paper | None = None) -> Ran:
    """Run one command text in this process, over the practice folder ``folder``."""
    paper = paper or Paper()
    code = interpret(text, host_commands(Practice(folder)), paper, where="the practice host")
    return Ran(code, "".join(paper.outs), "".join(paper.errs))


class RunningPractice:
    """``with RunningPractice(tmp_path) as practice:`` a practice host that works at once unless told otherwise.

    ``key_path`` is the private key that may sign in. Leaving the block ends what its jobs left running.
    """

    def __init__(self, folder: Path, *, pace: float = 0.0, key_folder: Path | None = None) -> None:
        """:param key_folder: where Nomos's own key is, if it has one already."""
        key_folder = key_folder or folder / "nomos-key"
        line = ensure_key(key_folder)
        self.key_path = key_folder / KEY_NAME
        self.folder = folder / "practice"
        self.host = PracticeHost(self.folder, line, pace=pace)

    def __enter__(self) -> RunningPractice:
        self.host.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.host.stop()
        for pid in processes_of(self.folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes_of(folder: Path) -> list[int]:
    """The processes that a practice host on ``folder`` started and that still run, by what their environment says."""
    marks = (f"HOME={folder.resolve()}/home\0".encode(), f"NOMOS_PRACTICE_FOLDER={folder.resolve()}\0".encode())
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                environment = (entry / "environ").read_bytes()
                if any(mark in environment for mark in marks):
                    found.append(int(entry.name))
    return found
