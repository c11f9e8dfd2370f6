"""What is sent to a host: one fixed exec text and, on its stdin, the job script with its variables.

Everything travels on stdin, so that neither the login shell (csh and fish quote differently) nor a limit on the length
of exec texts (dropbear) matters, and nothing has to be installed on the host. The exec text carries only words of
``[A-Za-z0-9_.-]``.

``Request.wire`` and ``read_wire`` are inverse to each other; the practice host uses the second to accept exactly what
Nomos sends and nothing else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from nomos.errors import InvalidInput

EXEC_PREFIX = "exec sh -s -- "
"""Every exec text begins so; the words of the request follow."""

MAX_COMMAND_BYTES = 100_000
"""Linux takes at most 128 KiB in one argument, and the command is one argument of its shell."""

MAX_INPUT_BYTES = 4095
"""With its line break a line fits into PIPE_BUF: it is written whole or not at all."""

_WORD = re.compile(r"[A-Za-z0-9_.-]+")
_JOB_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TAIL = 'eval "$S"\n'


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the job script: its words (verb and numbers) and its variables, all as text."""

    words: tuple[str, ...]
    mark: str
    base: str = ""
    interpreter: str = ""
    command: str = ""

    def exec_text(self) -> str:
        """What goes into the SSH exec request."""
        for word in self.words:
            if not _WORD.fullmatch(word):
                raise InvalidInput(f"{word!r} cannot be part of a request to a host.")
        return EXEC_PREFIX + " ".join(self.words)

    def wire(self) -> bytes:
        """What goes to its stdin. Nothing may follow it; the end of stdin ends a follower, and nothing else."""
        variables = (("M", self.mark), ("B", self.base), ("I", self.interpreter), ("C", self.command), ("S", script()))
        text = "".join(f"{name}={quote(value)}\n" for name, value in variables) + _TAIL
        return text.encode("utf-8", "surrogateescape")


@cache
def script() -> str:
    """The job script as it is sent: without its comment lines."""
    text = resources.files("nomos.ssh").joinpath("job.sh").read_text(encoding="utf-8")
    return "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#"))


def quote(value: str) -> str:
    """``value`` in single quotes, for any POSIX shell. Raises InvalidInput for a NUL, which no shell can carry."""
    if "\0" in value:
        raise InvalidInput("A command cannot contain a NUL character.")
    return "'" + value.replace("'", "'\"'\"'") + "'"


def check_job(job_id: str, command: str = "") -> None:
    """Raises InvalidInput when the id or the command cannot be sent."""
    if not _JOB_ID.fullmatch(job_id):
        raise InvalidInput(f"{job_id!r} is not a job id.")
    if len(command.encode("utf-8", "surrogateescape")) > MAX_COMMAND_BYTES:
        raise InvalidInput(f"A command can have at most {MAX_COMMAND_BYTES} bytes.")
    quote(command)


def check_input(line: str) -> None:
    """Raises InvalidInput when this is not one line that can be sent."""
    if "\n" in line:
        raise InvalidInput("Only one line can be given at a time.")
    if len(line.encode("utf-8", "surrogateescape")) > MAX_INPUT_BYTES:
        raise InvalidInput(f"A line of input can have at most {MAX_INPUT_BYTES} bytes.")
    quote(line)


def read_wire(exec_text: str, data: bytes) -> tuple[Request, int] | None:
    """Read a request that begins ``data``, as the far side.

    Returns it and the count of bytes it took, or None while more bytes are needed. Raises InvalidInput as soon as it
    is clear that this is not a request of this very version of Nomos.
    """
    words = tuple(exec_text.removeprefix(EXEC_PREFIX).split(" "))
    if not exec_text.startswith(EXEC_PREFIX) or not all(_WORD.fullmatch(word) for word in words):
        raise InvalidInput("This is not a request of Nomos.")
    values: dict[str, str] = {}
    at = 0
    for name in ("M", "B", "I", "C"):
        found = _read_assignment(name, data, at)
        if found is None:
            return None
        values[name], at = found
    rest = f"S={quote(script())}\n{_TAIL}".encode()
    if not rest.startswith(data[at : at + len(rest)]):
        raise InvalidInput("This is not the job script of this Nomos.")
    if len(data) < at + len(rest):
        return None
    request = Request(words=words, mark=values["M"], base=values["B"], interpreter=values["I"], command=values["C"])
    return request, at + len(rest)


def _read_assignment(name: str, data: bytes, at: int) -> tuple[str, int] | None:
    """``NAME='…'`` and its newline from ``at`` on: the value and where the next begins; None if not complete."""
    head = f"{name}='".encode()
    if not head.startswith(data[at : at + len(head)]):
        raise InvalidInput("This is not a request of Nomos.")
    at += len(head)
    parts: list[bytes] = []
    while True:
        end = data.find(b"'", at)
        if end < 0 or len(data) < end + 2:
            return None
        parts.append(data[at:end])
        if data[end + 1 : end + 2] == b"\n":
            return b"'".join(parts).decode("utf-8", "surrogateescape"), end + 2
        escape = b"'\"'\"'"
        if not escape.startswith(data[end : end + len(escape)]):
            raise InvalidInput("This is not a request of Nomos.")
        if len(data) < end + len(escape):
            return None
        at = end + len(escape)
