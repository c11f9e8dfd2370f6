"""The database on a disk that is full: said plainly, waited for, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from nomos.store.engine import Store, configure
from nomos.store.hints import SocketHints
from tests.chaos import invariants
from tests.chaos.figures import Figures
from tests.chaos.script import Files, task
from tests.harness.database import new_app
from tests.harness.lab import OPEN
from tests.harness.model_server import ScriptedModelServer
from tests.harness.sshd import Sshd
from tests.harness.stack import Process, Stack
from tests.harness.wait import wait_for

MEGABYTES = 12


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A disk of a few megabytes at a folder."""
    assert os.geteuid() == 0, "this test mounts a small disk, which takes root: run it as root"
    folder.mkdir(parents=True)
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={MEGABYTES}m,mode=700", "nomos-test", str(folder)], check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert made.returncode == 0, f"a small disk cannot be mounted here (CAP_SYS_ADMIN is missing?): {made.stderr}"
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(path: Path) -> None:
    """Take all room there is: no more than the small disk has."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        for size in [1 << 16] * (MEGABYTES * 16) + [1] * 4096:
            file.write(b"x" * size)


@pytest.mark.timeout(180)
def test_a_full_disk_is_said_and_waited_for(
    model: ScriptedModelServer, sshd: Sshd, chaos_folder: Path, figures: Figures
) -> None:
    folder = chaos_folder / "disk"
    files = Files(chaos_folder / "disk-files").make()
    stack = Stack(folder, model_url=model.url, NOMOS_SYNC_SECONDS="0.3", NOMOS_REHEARSAL="off")
    with small_disk(stack.home), stack:
        stack.authorize(sshd)
        stack.trust_host("lab", sshd.target())
        api, session_id = stack.api, stack.api.new_session()
        gate = folder / "gate"
        api.say(session_id, task("lab", [files.command("slow", lines=20, gate=gate)]))
        assert api.decide(api.pending(session_id)).status == 200
        api.until(session_id, lambda s: [e for e in s["executions"] if e["state"] == "running"], "the command")
        api.until(session_id, lambda s: not [m for m in s["messages"] if m["status"] in OPEN], "the turn's end")
        assert stack.web is not None
        assert stack.worker is not None
        processes = (stack.web, stack.worker)
        acknowledged = ["before"]
        assert api.say(session_id, "before").status == 202
        api.until(session_id, lambda s: s["messages"][-1]["role"] == "agent" and s["messages"][-1]["status"] == "done",
                  "an answer")  # fmt: skip

        filler = stack.home / "filler"
        fill(filler)
        refused = None
        for number in range(2000):
            answer = api.say(session_id, f"word {number}")
            if answer.status != 202:
                refused = answer
                break
            acknowledged.append(f"word {number}")
        assert refused is not None, "the disk was never full"
        assert (refused.status, refused.json["code"]) == (507, "disk_full"), refused.text
        assert "no room" in refused.json["detail"] or "full" in refused.json["detail"]
        assert refused.headers["content-type"] == "application/problem+json"
        assert api.get(f"/sessions/{session_id}").status == 200
        assert api.get("/sessions").status == 200
        assert api.alive()
        gate.touch()
        wait_for(lambda: "disk_full" in api.say(session_id, "still?").text, 20, "the second refusal")
        log = stack.worker.log
        wait_for(lambda: log.read_text().count("is full") > 5, 60, "the worker to meet the full disk again and again")
        assert [process.returncode for process in processes] == [None, None]
        stack.worker.kill()
        processes = (stack.web, Process("worker", stack.environment, folder / "second.log"))
        stack.worker = processes[1]
        wait_for(lambda: (folder / "second.log").read_text().count("is full") > 2, 60, "one that starts on a full disk")
        assert [process.returncode for process in processes] == [None, None]

        filler.unlink()
        wait_for(lambda: api.say(session_id, "after", "after").status == 202, 20, "room again")
        acknowledged.append("after")
        snapshot = api.until(
            session_id, lambda s: s["session"]["state"] == "done" and s["executions"][0]["state"] == "succeeded"
            and not [m for m in s["messages"] if m["status"] in OPEN], "the end", 60,
        )  # fmt: skip
        said = [m["blocks"][0]["text"] for m in snapshot["messages"] if m["role"] == "operator"]
        assert [words for words in acknowledged if words not in said] == []
        assert [process.returncode for process in processes] == [None, None]

        engine = configure(new_app(), f"sqlite:///{stack.home / 'nomos.db'}")
        store = Store(engine, SocketHints(stack.home / "hints"))
        found = wait_for(lambda: at_rest(store, files), 30, "rest")
        store.close()
        assert found.faults == []
    figures.facts.append(
        f"The database on a full disk: writes were refused with 507 `disk_full`, reads went on, neither process ended, "
        f"all went on by itself once there was room; {len(acknowledged)} messages were acknowledged and none was lost."
    )


def at_rest(store: Store, files: Files) -> invariants.Found | None:
    """What is found once nothing is in the way any more; None while it still is."""
    found = invariants.check(store, files)
    return None if any("claim is held" in fault or "is due" in fault for fault in found.faults) else found
