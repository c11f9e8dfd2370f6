"""The practice shell: what it understands, and that nothing escapes from it whatever it is given."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nomos.rehearsal.host.commands import host_commands
from nomos.rehearsal.host.language import NotUnderstood, parse
from nomos.rehearsal.host.state import Practice
from tests.harness.practice import Ran, run_in_practice_shell


@pytest.mark.parametrize(
    ("text", "code", "out"),
    [
        ("echo a b", 0, "a b\n"),
        ("echo 'a;  b' \"c && d\" e\\ f", 0, "a;  b c && d e f\n"),
        ("echo -n x", 0, "x"),
        ("true && echo yes || echo no", 0, "yes\n"),
        ("false && echo yes || echo no", 0, "no\n"),
        ("false; echo then", 0, "then\n"),
        ("false\necho then # not this\n\n", 0, "then\n"),
        ("true &&\necho joined", 0, "joined\n"),
        ("echo 1; exit 3; echo 2", 3, "1\n"),
        ("false", 1, ""),
        ("", 0, ""),
        ("LC_ALL=C hostname", 0, "pve1\n"),
        ("/usr/bin/hostname", 0, "pve1\n"),
        ("sh -c 'echo nested; exit 4'", 4, "nested\n"),
        ("bash -c \"sh -c 'exit 5'\"", 5, ""),
        ("seq 3 | tail -n 1", 0, "3\n"),
        ("seq 12 | grep 1 | head -2", 0, "1\n10\n"),
        ("seq 12 | grep -c 1", 0, "4\n"),
        ("echo x | grep y", 1, ""),
        ("seq 4 | wc -l", 0, "4\n"),
        ("cat /nope 2>/dev/null || echo gone", 0, "gone\n"),
        ("cat /nope 2>&1 | head -n 1", 0, "cat: /nope: No such file or directory\n"),
        ("echo quiet >/dev/null", 0, ""),
        ("whoami && id", 0, "root\nuid=0(root) gid=0(root) groups=0(root)\n"),
        ("cat /etc/hostname", 0, "pve1\n"),
        ("ls /etc/pve/lxc", 0, "101.conf\n103.conf\n"),
        ("qm list", 0, ""),
        ("systemctl is-active pveproxy", 0, "active\n"),
        ("systemctl is-active corosync", 3, "inactive\n"),
        ("sleep 0.01", 0, ""),
    ],
)
def test_it_understands(tmp_path: Path, text: str, code: int, out: str) -> None:
    assert run_in_practice_shell(tmp_path, text) == Ran(code, out, "")


@pytest.mark.parametrize(
    "text", ["pveversion", "pvesm status", "pveam list local", "uptime", "df -h", "free -m", "uname -a"]
)
def test_it_knows_the_usual_looks(tmp_path: Path, text: str) -> None:
    ran = run_in_practice_shell(tmp_path, text)
    assert ran.code == 0
    assert ran.out.endswith("\n")
    assert ran.err == ""


def test_an_unknown_command_is_127_and_says_where_one_is(tmp_path: Path) -> None:
    ran = run_in_practice_shell(tmp_path, "docker ps")
    assert (ran.code, ran.out) == (127, "")
    first, second = ran.err.splitlines()
    assert first == "sh: 1: docker: not found"
    assert second.startswith("the practice host knows only: ")


@pytest.mark.parametrize(
    "text",
    [
        "echo $HOME", "echo `id`", "echo $(id)", 'echo "$(id)"', 'echo "`id`"', "sleep 1 &", "echo x > /tmp/x",
        "cat < /etc/passwd", "echo x >/dev/nullx", "(echo x)", "{ echo x; }", "echo 'open", 'echo "open', "echo a |",
        "echo a &&", "&& echo a", "| head", "echo a || ; echo b", "echo \x07", "echo a\\\nb", "cat <<E\nx\nE",
    ],
)  # fmt: skip
def test_what_it_does_not_know_is_refused_whole(tmp_path: Path, text: str) -> None:
    with pytest.raises(NotUnderstood):
        parse(text)
    ran = run_in_practice_shell(tmp_path, f"pct stop 101; {text}")
    assert ran.code == 2
    assert "nothing was run" in ran.err
    assert Practice(tmp_path).calls() == []


def test_sleep_has_an_end(tmp_path: Path) -> None:
    assert run_in_practice_shell(tmp_path, "sleep 601").code == 1
    assert run_in_practice_shell(tmp_path, "sleep infinity").code == 1


def test_reading_the_state_needs_no_file_of_its_own(tmp_path: Path) -> None:
    run_in_practice_shell(tmp_path, "uptime; pvesm status; ls /")
    assert list(tmp_path.iterdir()) == []


# --- nothing escapes --------------------------------------------------------------------------------------------------

_PROCESSES = (
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.startfile",
    "os.system",
    "pty.spawn",
)
_ELSEWHERE = ("socket.", "ctypes.", "subprocess.", "urllib.", "ftplib.", "os.putenv", "os.kill", "os.killpg")
_FILES = ("open", "os.", "shutil.", "tempfile.", "glob.")


class _Watch:
    """Listens to the interpreter's audit events; a hook cannot be taken away, so it is switched on and off."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.escapes: list[str] = []
        sys.addaudithook(self._heard)

    @contextmanager
    def over(self, folder: Path) -> Iterator[list[str]]:
        self.escapes = []
        self.folder = folder
        try:
            yield self.escapes
        finally:
            self.folder = None

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.folder is None:
            return
        if event in _PROCESSES or event.startswith(_ELSEWHERE):
            self.escapes.append(f"{event} {arguments}")
        elif event.startswith(_FILES):
            # the second argument of "open" is its mode; others name a second path there
            for path in arguments[: 1 if event == "open" else 2]:
                if isinstance(path, str | bytes | os.PathLike) and not self._inside(path):
                    self.escapes.append(f"{event} {arguments}")

    def _inside(self, path: Any) -> bool:
        text = os.fsdecode(path)
        return text.startswith(f"{self.folder}/") and ".." not in text


_watch = _Watch()

_NAMES = sorted(host_commands(Practice(Path("/nowhere"))))
_PIECES = st.one_of(
    st.sampled_from([*_NAMES, "sh", "bash", "-c", "rm", "/bin/rm", "python3", "curl", "../../bin/sh", "exec", "eval"]),
    st.sampled_from(
        [";", "&&", "||", "|", "&", ">", "<", "2>&1", ">/dev/null", "'", '"', "\\", "$", "`", "(", ")", "\n"]
    ),
    st.sampled_from(
        ["create", "start", "stop", "destroy", "exec", "set", "clone", "snapshot", "--force", "--", "rootfs"]
    ),
    st.sampled_from(["101", "103", "105", "../x", "/etc/passwd", "/etc/hostname", "s1", "-n", "+1G", "/tmp/x", "~"]),
    st.sampled_from(["local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst", "--rootfs", "local-lvm:4", "--mp0=../x"]),
    st.text(max_size=6),
)
_TEXTS = st.one_of(st.lists(_PIECES, max_size=14).map(" ".join), st.lists(_PIECES, max_size=8).map("".join))


def _without_sleep(text: str) -> bool:
    return "sleep" not in text


@settings(max_examples=400)
@given(_TEXTS.filter(_without_sleep))
def test_no_text_starts_a_program_or_touches_a_file_outside(text: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        with _watch.over(folder) as escapes:
            ran = run_in_practice_shell(folder, text)
        assert escapes == []
        assert 0 <= ran.code <= 255


_VERBS = (
    "clone config create delsnapshot destroy exec list listsnapshot pending reboot resize rollback set shutdown "
    "snapshot start status stop template unlock"
).split()
_PCT_WORDS = st.one_of(
    st.sampled_from(["101", "103", "105", "999", "s1", "s2", "rootfs", "mp0", "8G", "+1G", "0", "1", "--", "-"]),
    st.sampled_from(["--force", "--start", "--full", "--verbose", "--delete=swap,net0", "--delete", "--lock=backup"]),
    st.sampled_from(
        ["--rootfs=local-lvm:4", "--rootfs=x", "--rootfs=size=4G", "--mp0=local-lvm:1,mp=/d", "--mp0=mp=/d"]
    ),
    st.sampled_from(["--net0=name=eth0", "--net0=name=eth0,ip=10.0.0.5/24", "--net1=x", "--hostname=a", "--swap=0"]),
    st.sampled_from(
        ["--template=1", "--onboot", "--memory=16", '--description="a\nb"', "--password", "--storage=local"]
    ),
    st.sampled_from(
        ["local:vztmpl/alpine-3.22-default_20250617_amd64.tar.xz", "/x.tar.gz", "free", "df", "ip", "apt-get"]
    ),
)
_PCT_CALLS = st.builds(
    lambda verb, words: " ".join(["pct", verb, *words]), st.sampled_from(_VERBS), st.lists(_PCT_WORDS, max_size=6)
)


@settings(max_examples=200)
@given(st.lists(_PCT_CALLS, min_size=1, max_size=8))
def test_no_sequence_of_pct_calls_breaks_it_or_its_state(texts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        with _watch.over(folder) as escapes:
            for text in texts:
                assert run_in_practice_shell(folder, text).code in (0, 1, 2, 100, 127, 255)
            shown = run_in_practice_shell(folder, "pct list; pct config 101; pct listsnapshot 101; ls /etc/pve/lxc")
        assert shown.code == 0
        assert escapes == []


def test_the_watch_sees_an_escape(tmp_path: Path) -> None:
    with _watch.over(tmp_path) as escapes:
        (tmp_path / "inside").write_text("x")
        assert escapes == []
        with Path("/dev/null").open("w"):
            pass
        assert len(escapes) == 1
        pid = os.posix_spawn("/bin/true", ["true"], {})
        assert len(escapes) == 2
    os.waitpid(pid, 0)
