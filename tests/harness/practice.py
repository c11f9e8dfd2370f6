"""A practice host for tests: started on a folder of the test's own, with a key of its own."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from nomos.rehearsal.host.server import PracticeHost
from nomos.ssh.keys import KEY_NAME, ensure_key


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
