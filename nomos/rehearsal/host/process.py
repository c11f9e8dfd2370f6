"""Joins one process to one SSH channel, as sshd does without a terminal."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

from paramiko import Channel

_PIECE = 32 * 1024


def serve(channel: Channel, argv: list[str], first_input: bytes, environment: dict[str, str], folder: Path) -> None:
    """Run ``argv`` in a session of its own until it and whatever holds its output have ended.

    The channel is left for the caller to close. The exit status is sent unless a signal killed the process. When the
    client goes away the process gets end-of-file on its input and a broken pipe at its next output, and no signal.
    """
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env=environment,
        cwd=folder,
        start_new_session=True,
    )
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    _thread(_feed, channel, stdin, first_input)
    errors = _thread(_carry, stderr, channel.sendall_stderr)
    _carry(stdout, channel.sendall)
    errors.join()
    code = process.wait()
    with suppress(OSError, EOFError):
        if code >= 0:
            channel.send_exit_status(code)
        channel.shutdown_write()


def _thread(work: Callable[..., None], *arguments: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, name=f"practice{work.__name__}", daemon=True)
    thread.start()
    return thread


def _feed(channel: Channel, stdin: IO[bytes], first: bytes) -> None:
    """Give the process what the client sends, until the client ends it or the process takes no more."""
    with suppress(OSError), stdin:
        _write_all(stdin, first)
        while piece := channel.recv(_PIECE):
            _write_all(stdin, piece)


def _write_all(stdin: IO[bytes], piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(stdin.fileno(), rest) :]


def _carry(output: IO[bytes], send: Callable[[bytes], None]) -> None:
    """Send each piece as it comes; with the client gone, close the pipe so that the process finds out as under sshd."""
    with suppress(OSError, EOFError), output:
        while piece := os.read(output.fileno(), _PIECE):
            send(piece)
