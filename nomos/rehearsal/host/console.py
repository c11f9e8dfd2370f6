"""Where a stand-in command writes to, and how long it pretends to work."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Protocol


class Console(Protocol):
    """The three streams of a command, and its sense of time."""

    @property
    def stdin(self) -> str:
        """What the command before it in a pipe printed; empty otherwise."""
        ...

    def read_line(self) -> str | None:
        """Wait for the next line of standard input; without its line break, None at the end."""
        ...

    def out(self, text: str) -> None:
        """Print ``text`` on standard output, at once."""
        ...

    def err(self, text: str) -> None:
        """Print ``text`` on standard error, at once."""
        ...

    def work(self, seconds: float) -> None:
        """Spend ``seconds`` (times the pace of this practice host) as real work would."""
        ...


class Command(Protocol):
    """A stand-in: takes its words (the name first) and answers with its exit code."""

    def __call__(self, console: Console, words: list[str], /) -> int: ...


Commands = dict[str, Command]


class Terminal:
    """The process's own descriptors: 1 and 2 written without a buffer so that output arrives in pieces."""

    stdin = ""

    def __init__(self, pace: float) -> None:
        """:param pace: factor on every piece of pretended work; 0 for none."""
        self._pace = pace

    def read_line(self) -> str | None:
        line = bytearray()
        while byte := os.read(0, 1):  # not more than this line: the rest belongs to who reads next
            if byte == b"\n":
                return line.decode("utf-8", "replace")
            line += byte
        return line.decode("utf-8", "replace") if line else None

    def out(self, text: str) -> None:
        _write(1, text)

    def err(self, text: str) -> None:
        _write(2, text)

    def work(self, seconds: float) -> None:
        if seconds * self._pace > 0:
            time.sleep(seconds * self._pace)


class Redirected:
    """Another console with some of its streams led elsewhere: into a pipe, into each other, or nowhere."""

    def __init__(
        self,
        console: Console,
        *,
        stdin: str = "",
        out: Callable[[str], None] | None = None,
        err: Callable[[str], None] | None = None,
    ) -> None:
        self.stdin = stdin
        self.out = out or console.out
        self.err = err or console.err
        self.work = console.work
        self._console = console

    def read_line(self) -> str | None:
        if not self.stdin:
            return self._console.read_line()
        line, _, self.stdin = self.stdin.partition("\n")
        return line


def nowhere(text: str) -> None:
    """Take ``text`` and forget it, as /dev/null does."""


def _write(descriptor: int, text: str) -> None:
    rest = memoryview(text.encode("utf-8", "surrogateescape"))
    while rest:
        rest = rest[os.write(descriptor, rest) :]
