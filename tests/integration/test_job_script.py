"""The job script on a real SSH server, under each shell that hosts have, and without setsid."""

from __future__ import annotations

import os
import re
import shutil
import signal
import statistics
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nomos.errors import ConnectionLost
from nomos.ssh.base import JobState, JobStatus, Limits
from nomos.ssh.paramiko_shell import ParamikoShell
from nomos.ssh.request import Request
from tests.harness.sshd import Sshd, command_lines, processes, running_sshd
from tests.harness.wait import wait_for

TOOLS = "cat chmod date dd env find id kill mkdir mkfifo mv rm sleep sh tail tr uname wc".split()
FLAVOURS = ["dash", "bash", "busybox", "no-setsid"]


class Lab:
    """One server whose ``sh`` is of the flavour, and a shell that reaches it."""

    def __init__(self, server: Sshd, flavour: str) -> None:
        self.server = server
        self.flavour = flavour
        self.shell = ParamikoShell(server.key_path)
        self.target = server.target()
        self.jobs: list[str] = []

    def start(self, command: str, limits: Limits | None = None) -> str:
        job_id = str(uuid.uuid4())
        self.jobs.append(job_id)
        assert self.shell.start(self.target, job_id, command, limits or Limits()).state is JobState.RUNNING
        return job_id

    def status(self, job_id: str) -> JobStatus:
        return self.shell.status(self.target, job_id)

    def follow(self, job_id: str, offset: int = 0) -> tuple[bytes, JobStatus]:
        chunks: list[bytes] = []
        status = self.shell.follow(self.target, job_id, offset, chunks.append, lambda: False)
        return b"".join(chunks), status

    def run(self, command: str, limits: Limits | None = None) -> tuple[bytes, JobStatus]:
        return self.follow(self.start(command, limits))

    def folder(self, job_id: str) -> Path:
        return self.server.base / job_id

    def pid(self, job_id: str, letter: str) -> int:
        """The supervisor (s) or the command (c) of a job."""
        (name,) = self.folder(job_id).glob(f"{letter}.*.*")
        return int(name.name.split(".")[1])


def tools_folder(folder: Path, flavour: str) -> str:
    """A PATH on which ``sh`` is of the flavour; for ``no-setsid`` with no setsid on it."""
    folder.mkdir()
    if flavour == "busybox":
        busybox = shutil.which("busybox")
        assert busybox, "busybox is not installed"
        for tool in (*TOOLS, "setsid"):
            (folder / tool).symlink_to(busybox)
        return str(folder)
    if flavour == "no-setsid":
        for tool in TOOLS:
            (folder / tool).symlink_to(shutil.which(tool) or f"{tool} is not installed")
        return str(folder)
    (folder / "sh").symlink_to(shutil.which(flavour) or f"{flavour} is not installed")
    return f"{folder}:/usr/local/bin:/usr/bin:/bin"


@pytest.fixture(scope="module", params=FLAVOURS)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp(request.param)
    path = tools_folder(folder / "bin", request.param)
    with running_sshd(folder / "sshd", path=path, environment={"STRAY": "from the login"}) as server:
        found = Lab(server, request.param)
        yield found
        found.shell.close()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A server as it comes, for what does not depend on the host's sh."""
    with running_sshd(tmp_path_factory.mktemp("plain") / "sshd") as server:
        found = Lab(server, "plain")
        yield found
        found.shell.close()


def test_every_byte_arrives_as_it_was_written(lab: Lab) -> None:
    octal = "".join(f"\\{byte:03o}" for byte in range(256))
    output, status = lab.run(f"printf '{octal}'; printf '50%%\\r100%%\\n'")
    assert output == bytes(range(256)) + b"50%\r100%\n"
    assert (status.state, status.exit_code, status.size) == (JobState.EXITED, 0, len(output))


def test_a_command_text_arrives_as_it_was_sent(lab: Lab) -> None:
    text = "".join(map(chr, range(1, 127))).replace("'", "") + 'äöü€\u0081\u0082\u0088🙂 $HOME `id` \\\\ "q"'
    output, _ = lab.run(f"printf %s '{text}'; printf %s \"it's\"")
    assert output.decode() == text + "it's"


def test_stdout_and_stderr_keep_their_order(lab: Lab) -> None:
    output, _ = lab.run("i=0; while [ $i -lt 1000 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done")
    assert output.split() == [f"{kind}{i}".encode() for i in range(1000) for kind in "oe"]


def test_much_output_is_complete_and_a_cut_in_the_middle_loses_nothing(lab: Lab) -> None:
    job_id = lab.start("i=0; while [ $i -lt 30 ]; do seq $((i*10000)) $((i*10000+9999)); sleep 0.02; i=$((i+1)); done")
    received = bytearray()
    cuts = 0

    def take(chunk: bytes) -> None:
        nonlocal cuts
        received.extend(chunk)
        if cuts < 2 and len(received) > 300_000 * (cuts + 1):
            cuts += 1
            lab.server.kill_connections()

    status = follow_through(lab, job_id, received, take)
    assert cuts == 2
    assert bytes(received) == "".join(f"{i}\n" for i in range(300_000)).encode()
    assert (status.state, status.exit_code, status.size) == (JobState.EXITED, 0, len(received))


def follow_through(lab: Lab, job_id: str, received: bytearray, take: Callable[[bytes], None]) -> JobStatus:
    """Follow again from the offset reached, as often as the connection is lost."""
    for _ in range(10):
        try:
            return lab.shell.follow(lab.target, job_id, len(received), take, lambda: False)
        except ConnectionLost:
            continue
    raise AssertionError("the connection was lost ten times")


def test_cancel_ends_all_of_the_group(lab: Lab) -> None:
    job_id = lab.start("sleep 300 & sleep 301 & sh -c 'sleep 302'; echo not reached")
    family = wait_for(lambda: found if len(found := below(lab.pid(job_id, "c"))) >= 3 else None, what="the sleeps")
    lab.shell.cancel(lab.target, job_id)
    output, status = lab.follow(job_id)
    assert (output, status.state, status.exit_code, status.why) == (b"", JobState.EXITED, 143, "")
    wait_for(lambda: not family & {pid for pid, _ in processes()}, what="the sleeps to end")


def test_kill_ends_what_ignores_term_and_what_left_the_group(lab: Lab) -> None:
    job_id = lab.start("trap '' TERM; setsid sleep 333 & sleep 334 & sleep 335; sleep 336")
    family = wait_for(lambda: found if len(found := below(lab.pid(job_id, "c"))) >= 3 else None, what="the sleeps")
    assert lab.shell.cancel(lab.target, job_id).state is JobState.RUNNING
    assert lab.status(job_id).state is JobState.RUNNING
    lab.shell.cancel(lab.target, job_id, kill=True)
    assert lab.follow(job_id)[1].exit_code == 137
    wait_for(lambda: not family & {pid for pid, _ in processes()}, what="the sleeps to end")


def below(pid: int) -> set[int]:
    """All descendants of a process."""
    parents = dict(processes())
    found: set[int] = set()
    while grown := {child for child, parent in parents.items() if parent in found | {pid}} - found:
        found |= grown
    return found


def test_lines_of_input_arrive_whole_and_in_order(lab: Lab) -> None:
    read = "while read -r line; do echo ${#line} $line | cut -c 1-12; [ $line != end ] || exit 5; done"
    job_id = lab.start(read, Limits(stdin=True))
    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(lab.shell.input, lab.target, job_id, str(n) * 4000) for n in range(1, 5)]
        assert all(call.result().taken for call in calls)
    assert lab.shell.input(lab.target, job_id, "end").taken
    output, status = lab.follow(job_id)
    *lines, last = output.decode().splitlines()
    assert sorted(lines) == [f"4000 {str(n) * 7}" for n in range(1, 5)]
    assert (last, status.exit_code) == ("3 end", 5)


def test_stdin_with_a_writer_never_ends_and_without_one_is_empty(lab: Lab) -> None:
    assert lab.run("cat; exit 6")[1].exit_code == 6
    job_id = lab.start("cat; exit 6", Limits(stdin=True))
    assert lab.shell.input(lab.target, job_id, "one").taken
    received = bytearray()
    lab.shell.follow(lab.target, job_id, 0, received.extend, lambda: bool(received))
    assert bytes(received) == b"one\n"
    os.kill(lab.pid(job_id, "s"), signal.SIGKILL)
    status = wait_for(lambda: s if (s := lab.status(job_id)).state is JobState.UNKNOWN else None, what="the end of cat")
    assert "killed" in status.why
    assert not lab.shell.input(lab.target, job_id, "two").taken


def test_a_follower_says_when_the_job_has_lost_its_supervisor(lab: Lab) -> None:
    job_id = lab.start("echo begun; sleep 300")
    received: list[bytes] = []

    def kill_supervisor(chunk: bytes) -> None:
        received.append(chunk)
        os.kill(lab.pid(job_id, "s"), signal.SIGKILL)

    assert lab.shell.follow(lab.target, job_id, 0, kill_supervisor, lambda: False).state is JobState.ORPHANED
    lab.shell.cancel(lab.target, job_id)
    assert lab.follow(job_id, 6)[1].state is JobState.UNKNOWN


def test_what_a_command_leaves_behind_does_not_hold_the_job_open(lab: Lab) -> None:
    job_id = lab.start("( while :; do echo still; sleep 0.2; done ) & echo $!; exit 3")
    started = time.monotonic()
    output, status = lab.follow(job_id)
    assert (status.state, status.exit_code) == (JobState.EXITED, 3)
    assert time.monotonic() - started < 8
    again, status = lab.follow(job_id)
    assert len(again) == status.size
    left = next(int(line) for line in output.split() if line.isdigit())
    os.kill(left, signal.SIGKILL)


def test_a_killed_supervisor_is_never_an_outcome(lab: Lab) -> None:
    job_id = lab.start("echo before; sleep 2; echo after; exit 0")
    os.kill(lab.pid(job_id, "s"), signal.SIGKILL)
    status = wait_for(lambda: s if (s := lab.status(job_id)).state is not JobState.RUNNING else None, what="a change")
    assert (status.state, status.exit_code) == (JobState.ORPHANED, None)
    output, status = lab.follow(job_id)
    assert output == b"before\nafter\n"
    assert (status.state, status.exit_code) == (JobState.UNKNOWN, None)
    assert "killed" in status.why
    assert lab.shell.start(lab.target, job_id, "echo again", Limits()).state is JobState.UNKNOWN


def test_an_orphaned_command_can_still_be_cancelled(lab: Lab) -> None:
    job_id = lab.start("sleep 300")
    command = lab.pid(job_id, "c")
    os.kill(lab.pid(job_id, "s"), signal.SIGKILL)
    wait_for(lambda: lab.status(job_id).state is JobState.ORPHANED, what="the orphan to be seen")
    lab.shell.cancel(lab.target, job_id)
    wait_for(lambda: lab.status(job_id).state is JobState.UNKNOWN, what="the end")
    assert command not in {pid for pid, _ in processes()}


def test_a_restart_of_the_host_is_unknown_unless_the_end_was_recorded(lab: Lab) -> None:
    running, ended = lab.start("sleep 300"), lab.start("exit 4")
    assert lab.follow(ended)[1].exit_code == 4
    for job_id in (running, ended):
        (name,) = lab.folder(job_id).glob("s.*.*.*")
        name.rename(name.with_name(".".join(name.name.split(".")[:3]) + ".another-boot-1"))
    status = lab.status(running)
    assert status.state is JobState.UNKNOWN
    assert re.search(r"the host restarted at 20\d\d-\d\d-\d\d \d\d:\d\d UTC while it ran", status.why)
    assert lab.shell.start(lab.target, running, "echo again", Limits()).state is JobState.UNKNOWN
    assert lab.status(ended).exit_code == 4
    assert lab.shell.cancel(lab.target, running).state is JobState.UNKNOWN  # and signals no process of this boot
    os.kill(lab.pid(running, "c"), 0)


def test_a_start_that_died_before_the_command_is_never_made_up_for(lab: Lab) -> None:
    job_id = str(uuid.uuid4())
    folder = lab.folder(job_id)
    folder.mkdir(parents=True, mode=0o700)
    boot = lab.status("none").boot
    dead = max(pid for pid, _ in processes()) + 1000
    (folder / f"s.{dead}.1.{boot}").touch()
    assert lab.status(job_id).state is JobState.NEVER_STARTED
    assert lab.shell.start(lab.target, job_id, "echo never", Limits()).state is JobState.NEVER_STARTED
    assert lab.follow(job_id) == (b"", lab.status(job_id))


def test_a_claim_without_a_name_is_unknown(lab: Lab) -> None:
    job_id = str(uuid.uuid4())
    lab.folder(job_id).mkdir(parents=True, mode=0o700)
    assert lab.shell.start(lab.target, job_id, "echo never", Limits()).state is JobState.UNKNOWN


def test_no_process_of_ours_stays_on_the_host(lab: Lab) -> None:
    job_id = lab.start("echo begun; sleep 300")
    received = bytearray()

    def cut(chunk: bytes) -> None:
        received.extend(chunk)
        lab.server.kill_connections()

    with pytest.raises(ConnectionLost):
        lab.shell.follow(lab.target, job_id, 0, cut, lambda: False)
    assert received == b"begun\n"
    lab.shell.follow(lab.target, job_id, 0, lambda _: None, lambda: True)
    wait_for(lambda: not followers(lab), what="the followers to end with their connection")
    lab.shell.cancel(lab.target, job_id)
    lab.follow(job_id)
    wait_for(lambda: not followers(lab) and not of_job(job_id), what="everything to end with the job")


def followers(lab: Lab) -> list[str]:
    """Command lines of followers on this server and of the tails they read with."""
    base = str(lab.server.base)
    return [
        line
        for line in command_lines().values()
        if (base in line and "tail" in line) or ("nomos-job attached" in line and any(job in line for job in lab.jobs))
    ]


def of_job(job_id: str) -> list[str]:
    return [line for line in command_lines().values() if job_id in line]


def test_when_the_time_is_over_and_term_is_ignored_kill_follows(plain: Lab) -> None:
    job_id = str(uuid.uuid4())
    command = "trap '' TERM; echo begun; sleep 300; sleep 300"
    request = Request(("start", job_id, "1000", "1", "1"), "mark", base=str(plain.server.base), command=command)
    subprocess.run(["sh", "-s", "--", *request.words], input=request.wire(), stdout=subprocess.DEVNULL, check=False)
    output, status = plain.follow(job_id)
    assert (output, status.exit_code, status.timed_out) == (b"begun\n", 137, True)


def test_the_command_runs_in_a_clean_place(lab: Lab) -> None:
    output, _ = lab.run("grep SigIgn /proc/self/status; cat; (: </dev/tty) 2>&1; echo PATH=$PATH; pwd; env")
    text = output.decode()
    found = re.search(r"SigIgn:\s*(\w+)", text)
    assert found
    own_to_the_c_library = 0b11 << 31  # signals 32 and 33, which nobody else can set
    assert int(found[1], 16) & ~own_to_the_c_library == 0
    assert "No such device" in text
    assert "STRAY" not in text
    assert f"\n{lab.server.home}\n" in text
    path = re.search(r"PATH=(.*)", text)
    assert path
    assert path[1].startswith("/usr/sbin:/usr/bin:/sbin:/bin:")
    for setting in ("DEBIAN_FRONTEND=noninteractive", "PAGER=cat", "LANG=C.UTF-8", "TERM=dumb", "NOMOS_JOB="):
        assert setting in text


def test_the_command_has_a_group_of_its_own_where_the_host_can_make_one(lab: Lab) -> None:
    job_id = lab.start("sleep 300")
    supervisor, command = lab.pid(job_id, "s"), lab.pid(job_id, "c")
    wait_for(lambda: command in sleepers(), what="the command to take its place")
    assert (os.getpgid(command) == command) is (lab.flavour != "no-setsid")
    assert os.getpgid(supervisor) != command
    lab.shell.cancel(lab.target, job_id)
    assert lab.follow(job_id)[1].exit_code == 143


def sleepers() -> set[int]:
    return {pid for pid, line in command_lines().items() if line.strip() == "sleep 300"}


def test_term_from_elsewhere_is_told_apart(lab: Lab) -> None:
    _, status = lab.run("kill -TERM $$; sleep 5")
    assert status.exit_code == 143
    assert "not by Nomos" in status.why


def test_another_interpreter_gets_the_command_and_nothing_else_does(lab: Lab) -> None:
    program = lab.server.folder / "practice"
    program.write_text('#!/bin/sh\nprintf "[%s]" "$@"\nexit 7\n')
    program.chmod(0o755)
    target = lab.server.target(interpreter=str(program))
    job_id = str(uuid.uuid4())
    lab.shell.start(target, job_id, "rm -rf / ; it's", Limits())
    output, status = lab.follow(job_id)
    assert (output, status.exit_code) == (b"[-c][rm -rf / ; it's]", 7)


def test_a_login_script_that_prints_disturbs_nothing(plain: Lab) -> None:
    script = plain.server.home / ".bashrc"
    script.write_text("echo welcome; echo NOMOS1 state=exited; echo trouble >&2; alias sleep=false; printf open\n")
    try:
        assert plain.shell.probe(plain.target).job_base == str(plain.server.base)
        output, status = plain.run("echo one; sleep 0.1; echo two")
        assert (output, status.exit_code) == (b"one\ntwo\n", 0)
    finally:
        script.unlink()


def test_a_line_is_handed_over_at_once(plain: Lab) -> None:
    delays: list[float] = []

    def take(chunk: bytes) -> None:
        now = time.time_ns()
        delays.extend((now - int(line)) / 1e9 for line in chunk.split())

    job_id = plain.start("for i in 1 2 3 4 5 6 7 8 9 10 11; do date +%s%N; sleep 0.1; done")
    plain.shell.follow(plain.target, job_id, 0, take, lambda: False)
    assert len(delays) == 11
    assert statistics.median(delays) < 0.1


def test_jobs_that_end_while_a_follower_begins_are_never_followed_for_ever(plain: Lab) -> None:
    def run(number: int) -> int | None:
        return plain.run(f"sleep 0.0{number % 8}; exit 5")[1].exit_code

    with ThreadPoolExecutor(4) as threads:
        begun = time.monotonic()
        assert list(threads.map(run, range(80))) == [5] * 80
    assert time.monotonic() - begun < 40


def test_start_answers_at_once_whatever_the_command_does(plain: Lab) -> None:
    plain.status("none")  # connects
    took = []
    for _ in range(5):
        begun = time.monotonic()
        plain.start("sleep 2")
        took.append(time.monotonic() - begun)
    assert statistics.median(took) < 1


def test_the_probe_finds_a_folder_and_a_pinned_one_is_kept(plain: Lab) -> None:
    facts = plain.shell.probe(plain.server.target(job_base=None))
    assert facts.job_base == f"{plain.server.home}/.local/state/nomos/jobs"
    assert Path(facts.job_base).stat().st_mode & 0o777 == 0o700
    assert list(Path(facts.job_base).iterdir()) == []
    assert facts.shell.endswith("bash")


def test_old_jobs_lose_their_output_first_and_their_folder_much_later(plain: Lab) -> None:
    week_three, ancient, running = plain.start("echo x"), plain.start("echo y"), plain.start("sleep 300")
    for job_id in (week_three, ancient):
        plain.follow(job_id)
    wait_for(lambda: not of_supervisors({week_three, ancient}), what="the supervisors to end")
    age(plain.folder(week_three), 20)
    age(plain.folder(running), 20)
    age(plain.folder(ancient), 20)
    plain.run("echo sweeps")
    wait_for(lambda: not (plain.folder(ancient) / "out").exists(), what="the sweep")
    status = plain.status(week_three)
    assert (status.state, status.exit_code) == (JobState.EXITED, 0)
    assert "gone" in status.why
    assert plain.status(running).state is JobState.RUNNING
    assert (plain.folder(running) / "out").exists()
    age(plain.folder(ancient), 500)
    plain.run("echo sweeps")
    wait_for(lambda: not plain.folder(ancient).exists(), what="the second sweep")
    plain.shell.cancel(plain.target, running)


def age(folder: Path, days: int) -> None:
    then = time.time() - days * 86400
    os.utime(folder, (then, then))


def of_supervisors(job_ids: set[str]) -> list[str]:
    return [line for line in command_lines().values() if "supervise" in line and any(job in line for job in job_ids)]
