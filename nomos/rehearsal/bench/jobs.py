"""Measures jobs on a host with OpenSSH: what they cost beside what plain SSH costs."""

from __future__ import annotations

import os
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nomos.rehearsal.bench.client import PATIENCE, NothingCame
from nomos.rehearsal.bench.openssh import OpenSsh, is_installed
from nomos.rehearsal.bench.stage import Stage
from nomos.ssh.base import Limits, Target
from nomos.ssh.connection import Deadlines, connect, hang_up
from nomos.ssh.keys import load_key
from nomos.ssh.paramiko_shell import ParamikoShell

FIGURES = frozenset(
    {"start_extra", "output", "output_openssh", "followed_nomos", "followed_host", "followed_processes"}
)
FOLLOWED = 50
_MEGABYTES = 200
_TEXT = f"yes 'a line of text as a program prints it, of 64 bytes with its end..' | head -c {_MEGABYTES}000000"
_WATCHED_SECONDS = 5.0

Values = Mapping[str, list[float]]


def hosts(stage: Stage, rounds: int) -> Values:
    """All figures of this module; none where OpenSSH is not installed."""
    if not is_installed():
        return {}
    folder = stage.folder("openssh")
    with OpenSsh(folder) as server:
        shell = ParamikoShell(server.key_path)
        try:
            target = server.target()
            shell.probe(target)
            return {
                "start_extra": _starts(shell, target, server, rounds),
                **_rates(shell, target, server, min(rounds, 3)),
                **_idle(shell, target, server, folder / "gate"),
            }
        finally:
            shell.close()


def _starts(shell: ParamikoShell, target: Target, server: OpenSsh, rounds: int) -> list[float]:
    """A start, less the median of a plain ``true``; each over a connection that is kept."""
    plain, started = [], []
    transport = connect(target, load_key(server.key_path), Deadlines())
    for _ in range(rounds):
        began = time.monotonic()
        with transport.open_session(timeout=PATIENCE) as channel:
            channel.exec_command("true")
            channel.status_event.wait(PATIENCE)
        plain.append((time.monotonic() - began) * 1000)
        job_id, began = str(uuid.uuid4()), time.monotonic()
        shell.start(target, job_id, "true", Limits(timeout=60))
        started.append((time.monotonic() - began) * 1000)
        shell.follow(target, job_id, 0, lambda _: None, lambda: False)
    hang_up(transport)
    usual = sorted(plain)[len(plain) // 2]
    return [value - usual for value in started]


def _rates(shell: ParamikoShell, target: Target, server: OpenSsh, rounds: int) -> Values:
    """The output of one job, read by a follower and by ``ssh … cat``."""
    job_id = str(uuid.uuid4())
    shell.start(target, job_id, _TEXT, Limits(timeout=600))
    rates: dict[str, list[float]] = {"output": [], "output_openssh": []}
    sizes: list[int] = []
    shell.follow(target, job_id, 0, lambda _: None, lambda: False)
    for _ in range(rounds):
        sizes.clear()
        began = time.monotonic()
        shell.follow(target, job_id, 0, lambda chunk: sizes.append(len(chunk)), lambda: False)
        rates["output"].append(_MEGABYTES / (time.monotonic() - began))
        if sum(sizes) != _MEGABYTES * 1_000_000:
            raise NothingCame(f"{sum(sizes)} bytes of output came.")
        command = server.command_line(f"cat {target.job_base}/{job_id}/out")
        began = time.monotonic()
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
        rates["output_openssh"].append(_MEGABYTES / (time.monotonic() - began))
    return rates


def _idle(shell: ParamikoShell, target: Target, server: OpenSsh, gate: Path) -> Values:
    """Jobs that say nothing are followed for a while, each by a thread as in the worker. At ``gate`` they wait."""
    os.mkfifo(gate)
    command = f"exec 3<>'{gate}'; echo begun; read -r _ <&3"
    begun = threading.Semaphore(0)
    with ThreadPoolExecutor(FOLLOWED) as threads:
        for _ in range(FOLLOWED):
            job_id = str(uuid.uuid4())
            shell.start(target, job_id, command, Limits(timeout=120))
            threads.submit(shell.follow, target, job_id, 0, lambda _: begun.release(), lambda: False)
        try:
            if not all(begun.acquire(timeout=PATIENCE) for _ in range(FOLLOWED)):
                raise NothingCame("a job's first line did not come")
            time.sleep(1.0)  # until all that has just worked is idle
            there = _below(server.pid)
            before, own, began = _processor(there), time.process_time(), time.monotonic()
            time.sleep(_WATCHED_SECONDS)
            took = time.monotonic() - began
            return {
                "followed_nomos": [(time.process_time() - own) / took * 100],
                "followed_host": [(_processor(there) - before) / took * 100],
                "followed_processes": [len(there) / FOLLOWED],
            }
        finally:
            gate.write_bytes(b"\n" * FOLLOWED)


def _below(pid: int) -> set[int]:
    """The processes that descend from ``pid``."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            parents[int(entry.name)] = int(fields[1])
    found: set[int] = set()
    while more := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= more
    return found


def _processor(pids: set[int]) -> float:
    """Processor time that they have used, seconds."""
    ticks = sum(int(fields[11]) + int(fields[12]) for pid in pids if (fields := _stat(pid)))
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str]:
    """What /proc/PID/stat says from the state on; nothing of a process that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []
