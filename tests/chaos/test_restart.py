"""The step that kills Nomos: a command that ends web and worker, run by Nomos on its own machine, is a normal case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

from nomos.store.engine import Store, configure
from nomos.store.hints import SocketHints
from tests.chaos import invariants
from tests.chaos.figures import Figures
from tests.chaos.script import Files, task
from tests.harness.api import Api
from tests.harness.database import new_app
from tests.harness.model_server import ScriptedModelServer
from tests.harness.sshd import Sshd, processes
from tests.harness.stack import ALL_SCOPES, ROOT, Stack
from tests.harness.wait import wait_for

KILLS = r"""
# Ends Nomos's own processes, as restarting its service would, and notes whom.
for pid in $(cat "$folder/pids"); do kill -9 "$pid" && printf 'ended %s\n' "$pid" >>"$folder/ended"; done
sleep 1
"""


@contextmanager
def serving(stack: Stack) -> Iterator[subprocess.Popen[bytes]]:
    """``nomos serve``."""
    log = (stack.folder / "serve.log").open("ab")
    process = subprocess.Popen(
        [sys.executable, "-m", "nomos", "serve"], cwd=ROOT, env=stack.environment, stdin=subprocess.DEVNULL,
        stdout=log, stderr=log, start_new_session=True,
    )  # fmt: skip
    try:
        wait_for(stack.api.alive, 40, "Nomos")
        yield process
    finally:
        log.close()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(40)


def children(pid: int) -> list[int]:
    """The living processes that one started."""
    return [child for child, parent in processes() if parent == pid]


def test_a_command_that_ends_nomos_itself(
    model: ScriptedModelServer, sshd: Sshd, chaos_folder: Path, figures: Figures
) -> None:
    folder = chaos_folder / "restart"
    files = Files(chaos_folder / "restart-files").make()
    program = files.folder / "work"
    program.write_text(program.read_text().replace("{\n", f"{KILLS}{{\n", 1))
    stack = Stack(folder, model_url=model.url, NOMOS_REHEARSAL="off")
    folder.mkdir()
    with serving(stack) as supervisor:
        stack.api = api = Api(stack.url, stack.new_token(ALL_SCOPES))
        stack.authorize(sshd)
        stack.trust_host("lab", sshd.target())
        before = wait_for(lambda: children(supervisor.pid), 20, "web and worker")
        assert len(before) == 2
        (files.folder / "pids").write_text(" ".join(map(str, before)))
        session_id = api.new_session()
        api.say(session_id, task("lab", [files.command("restart", lines=5)]))
        assert api.decide(api.pending(session_id)).status == 200
        wait_for(lambda: len(ended(files)) == 2, 30, "web and worker to be ended")
        snapshot = wait_for(lambda: concluded(api, session_id), 60, "Nomos to be back, and the goal")
        assert [(e["state"], e["exit_code"]) for e in snapshot["executions"]] == [("succeeded", 0)]
        after = children(supervisor.pid)
        assert len(after) == 2
        assert not set(after) & set(before)
    store = Store(configure(new_app(), f"sqlite:///{stack.home / 'nomos.db'}"), SocketHints(stack.home / "hints"))
    assert invariants.check(store, files).faults == []
    store.close()
    figures.facts.append(
        "A command that killed Nomos's own web and worker: both were started again, its result was found and continued."
    )


def concluded(api: Api, session_id: str) -> Any:
    """The session's snapshot once its goal is verified; None before, and while nobody answers."""
    try:
        snapshot = api.snapshot(session_id)
    except (OSError, HTTPException):
        return None
    return snapshot if snapshot["session"]["state"] == "done" else None


def ended(files: Files) -> list[str]:
    """Whom the command ended."""
    path = files.folder / "ended"
    return path.read_text().splitlines() if path.exists() else []


def test_what_nomos_serve_started_ends_with_it(model: ScriptedModelServer, chaos_folder: Path) -> None:
    folder = chaos_folder / "orphans"
    folder.mkdir()
    stack = Stack(folder, model_url=model.url, NOMOS_REHEARSAL="off")
    with serving(stack) as supervisor:
        parts = children(supervisor.pid)
        assert len(parts) == 2
        os.kill(supervisor.pid, signal.SIGKILL)
        supervisor.wait(10)
        wait_for(lambda: not set(parts) & {pid for pid, _ in processes()}, 20, "its parts' ends")
        wait_for(lambda: not stack.api.alive(), 20, "the port to be free")
