"""``nomos serve``: web and worker as two processes of one command; the one that dies is started anew."""

from __future__ import annotations

import ctypes
import signal
import subprocess
import sys
import threading
import time

PARTS = ("web", "worker")
SHORTEST_LIFE = 10.0  # seconds; a part that fails sooner, again and again, has a fault that a restart does not cure
MOST_QUICK_DEATHS = 5
PATIENCE = 15.0  # seconds a part may take to end
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def serve_both() -> int:
    """Run both parts until a signal, or until one of them keeps dying. Returns the exit code."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    running = {part: _start(part) for part in PARTS}
    started = dict.fromkeys(PARTS, time.monotonic())
    quick = dict.fromkeys(PARTS, 0)
    code = 0
    while not ended.wait(0.2):
        for part, process in running.items():
            if process.poll() is None:
                continue
            # One that was killed did not fail by itself: it is started again however often that happens.
            failed = process.returncode > 0 and time.monotonic() - started[part] < SHORTEST_LIFE
            quick[part] = quick[part] + 1 if failed else 0
            if quick[part] >= MOST_QUICK_DEATHS:
                sys.stderr.write(f"nomos: {part} ends as soon as it is started; the lines above say why. Giving up.\n")
                code = 1
                ended.set()
                break
            ended.wait(0.3 * quick[part])
            started[part] = time.monotonic()
            running[part] = _start(part)
    for process in running.values():
        process.terminate()
    for process in running.values():
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return code


def _start(part: str) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C reaches only the supervisor, which then ends its parts in order.
    command = [sys.executable, "-m", "nomos", part]
    return subprocess.Popen(command, start_new_session=True, preexec_fn=_end_with_parent)  # noqa: PLW1509 - no threads


def _end_with_parent() -> None:
    """Have Linux end this part when the supervisor is killed: a second one could not have the port."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
