"""What is sent to hosts: read back exactly, and nothing else taken for it."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomos.errors import InvalidInput
from nomos.ssh.request import Request, check_job, quote, read_wire, script

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60)
QUOTES = st.text("'\"\\\n$`a ", max_size=20)


@given(base=TEXTS | QUOTES, interpreter=QUOTES, command=TEXTS | QUOTES, cut=st.floats(0, 0.999))
def test_a_request_is_read_back_as_it_was_sent(base: str, interpreter: str, command: str, cut: float) -> None:
    request = Request(("start", "job-1", "100", "60", "10"), "abc123", base, interpreter, command)
    wire = request.wire()
    assert read_wire(request.exec_text(), wire + b"more") == (request, len(wire))
    assert read_wire(request.exec_text(), wire[: int(len(wire) * cut)]) is None


@given(text=TEXTS | QUOTES)
def test_quoted_text_means_itself_to_a_shell(text: str) -> None:
    said = subprocess.run(["sh"], input=f"printf %s {quote(text)}".encode(), capture_output=True, check=True)
    assert said.stdout == text.encode()


@given(position=st.integers(0, 400), byte=st.sampled_from(b"';$()`\n"))
def test_a_changed_script_is_not_taken(position: int, byte: int) -> None:
    request = Request(("status", "job-1"), "abc123", "/jobs")
    wire = bytearray(request.wire())
    place = wire.index(b"S='") + position
    if wire[place] == byte:
        return
    wire[place] = byte
    with pytest.raises(InvalidInput):
        read_wire(request.exec_text(), bytes(wire))


@pytest.mark.parametrize(
    "exec_text",
    ["", "sh", "exec sh -s -- ", "exec sh -s -- start; id", "exec sh -s -- $(id)", "exec sh -s -- a  b", "rm -rf /"],
)
def test_other_exec_texts_are_not_taken(exec_text: str) -> None:
    with pytest.raises(InvalidInput):
        read_wire(exec_text, Request(("status", "job-1"), "abc123", "/jobs").wire())


@pytest.mark.parametrize("word", ["", "a b", "a;b", "$x", "a\n", "ä"])
def test_words_that_a_shell_could_read_otherwise_are_not_sent(word: str) -> None:
    with pytest.raises(InvalidInput):
        Request((word,), "abc123").exec_text()


def test_limits_of_ids_and_commands() -> None:
    check_job("x" * 64, "y" * 100_000)
    for job_id, command in (
        ("x" * 65, ""),
        ("", ""),
        ("a/b", ""),
        ("x", "y" * 100_001),
        ("x", "é" * 50_001),
        ("x", "\0"),
    ):
        with pytest.raises(InvalidInput):
            check_job(job_id, command)


def test_the_script_is_one_that_every_shell_can_read() -> None:
    for shell in (["dash"], ["bash", "--posix"], ["busybox", "ash"]):
        subprocess.run([*shell, "-n"], input=script().encode(), check=True)
    assert not [line for line in script().splitlines() if line.lstrip().startswith("#")]
