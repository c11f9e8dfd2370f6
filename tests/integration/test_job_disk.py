"""The job script where the disk is full or the folder for jobs is not one: clear refusals, no false start, no harm."""

from __future__ import annotations

import os
import secrets
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nomos.errors import HostUnusable
from nomos.ssh.base import JobState, JobStatus, Limits
from nomos.ssh.paramiko_shell import ParamikoShell
from nomos.ssh.reply import check_refusal, marked_lines, read_status
from nomos.ssh.request import Request
from tests.harness.sshd import Sshd, running_sshd
from tests.harness.wait import wait_for


class TinyDisk:
    """A folder with a disk of 512 KiB, seen only by processes that ``run`` starts: it lies in a mount namespace."""

    def __init__(self, folder: Path, holder: int) -> None:
        self.folder = folder
        self._enter = ["nsenter", f"--target={holder}", "--mount"]
        if os.getuid() != 0:
            self._enter += ["--user", "--preserve-credentials"]

    def run(self, *command: str, text: bytes = b"") -> bytes:
        done = subprocess.run(
            [*self._enter, *command],
            input=text,
            stdout=subprocess.PIPE,
            timeout=30,
            check=False,
            start_new_session=True,
        )
        return done.stdout

    def ask(self, *words: str, command: str = "") -> list[str]:
        request = Request(words, secrets.token_hex(4), base=str(self.folder / "jobs"), command=command)
        said = self.run("sh", "-s", "--", *words, text=request.wire())
        return marked_lines(said, request.mark)

    def start(self, job_id: str, command: str) -> JobStatus:
        lines = self.ask("start", job_id, "1000000", "60", "5", command=command)
        check_refusal(lines, "the tiny disk")
        return one(lines)

    def status(self, job_id: str) -> JobStatus:
        return one(self.ask("status", job_id))

    def fill(self) -> None:
        # Bounded: run outside its namespace by a fault, it must not fill the real disk.
        self.run("sh", "-c", f"head -c 64M /dev/zero >{self.folder}/filler 2>/dev/null")

    def free(self) -> None:
        self.run("rm", f"{self.folder}/filler")


def one(lines: list[str]) -> JobStatus:
    (status,) = [status for line in lines if (status := read_status(line))]
    return status


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[TinyDisk]:
    with tiny_disk(tmp_path) as found:
        yield found


@contextmanager
def tiny_disk(folder: Path) -> Iterator[TinyDisk]:
    privilege = [] if os.getuid() == 0 else ["--map-root-user"]
    mount = 'mount -t tmpfs -o size=512k none "$1" && echo ready && exec cat'
    holder = subprocess.Popen(
        ["unshare", *privilege, "--mount", "sh", "-c", mount, "sh", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdin
    assert holder.stdout
    assert holder.stdout.readline() == b"ready\n", "no mount namespace could be made"
    try:
        yield TinyDisk(folder, holder.pid)
    finally:
        holder.stdin.close()
        holder.wait(10)
        holder.stdout.close()


def test_on_a_full_disk_nothing_is_started_and_later_the_same_job_may(disk: TinyDisk) -> None:
    job_id = str(uuid.uuid4())
    disk.ask("probe")
    disk.fill()
    with pytest.raises(HostUnusable, match=r"cannot keep jobs.*No space.*Nothing was started"):
        disk.start(job_id, f"echo ran >{disk.folder}/ran")
    assert disk.status(job_id).state is JobState.MISSING
    disk.free()
    assert disk.run("ls", str(disk.folder)).split() == [b"jobs"]
    assert disk.start(job_id, "exit 5").state is JobState.RUNNING
    assert wait_for(lambda: s if (s := disk.status(job_id)).state is JobState.EXITED else None).exit_code == 5


def test_a_disk_that_fills_up_does_not_hurt_the_command_and_its_end_is_recorded(disk: TinyDisk) -> None:
    job_id = str(uuid.uuid4())
    disk.start(job_id, "seq 200000 && exit 6")
    status = wait_for(lambda: s if (s := disk.status(job_id)).state is JobState.EXITED else None, what="the end")
    assert (status.exit_code, status.truncated) == (6, True)
    assert 0 < status.size < 512 * 1024


def test_a_full_disk_refuses_the_probe_with_the_reason(disk: TinyDisk) -> None:
    disk.ask("probe")
    disk.fill()
    with pytest.raises(HostUnusable, match=r"no folder there can hold jobs.*No space"):
        check_refusal(disk.ask("probe"), "the tiny disk")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with running_sshd(tmp_path_factory.mktemp("disk") / "sshd") as found:
        yield found


@pytest.fixture
def shell(server: Sshd) -> Iterator[ParamikoShell]:
    found = ParamikoShell(server.key_path)
    yield found
    found.close()


def test_a_link_is_not_taken_for_the_folder(server: Sshd, shell: ParamikoShell) -> None:
    elsewhere = server.folder / "elsewhere"
    elsewhere.mkdir()
    (server.folder / "link").symlink_to(elsewhere)
    target = server.target(job_base=str(server.folder / "link"))
    with pytest.raises(HostUnusable, match="symbolic link"):
        shell.probe(target)
    with pytest.raises(HostUnusable, match=r"symbolic link.*Nothing was started"):
        shell.start(target, "none", "true", Limits())
    assert list(elsewhere.iterdir()) == []


def test_a_file_in_the_way_is_named(server: Sshd, shell: ParamikoShell) -> None:
    (server.folder / "file").touch()
    with pytest.raises(HostUnusable, match="File exists"):
        shell.start(server.target(job_base=str(server.folder / "file")), "none", "true", Limits())


def test_a_relative_folder_is_refused(server: Sshd, shell: ParamikoShell) -> None:
    with pytest.raises(HostUnusable, match="absolute"):
        shell.start(server.target(job_base="jobs"), "none", "true", Limits())


def test_a_folder_with_blanks_and_quotes_works(server: Sshd, shell: ParamikoShell) -> None:
    target = server.target(job_base=str(server.folder / "a b's $HOME"))
    shell.start(target, "blanks", "echo fine", Limits())
    chunks: list[bytes] = []
    assert shell.follow(target, "blanks", 0, chunks.append, lambda: False).exit_code == 0
    assert b"".join(chunks) == b"fine\n"
