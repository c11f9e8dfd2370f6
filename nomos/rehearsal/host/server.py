"""The practice host's SSH server: one loopback port, one key, exec requests of Nomos's job script only.

No terminal, no shell, no files, no forwarding. It has to run in a process with real threads.
"""

from __future__ import annotations

import logging
import os
import random
import shlex
import socket
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import paramiko
from paramiko.common import AUTH_FAILED, AUTH_SUCCESSFUL, OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED, OPEN_SUCCEEDED

from nomos.ssh.base import Target
from nomos.ssh.keys import KEY_NAME, ensure_key, host_key, load_key

from .process import serve
from .state import PctCall, Practice
from .wrapper import NotServed, recognise

_ROOT = Path(__file__).resolve().parents[3]
_PORTS = range(20_000, 32_000)
_PATIENCE = 30.0
"""Seconds that a client has for each step: to sign in, to ask, to send its request."""
_REFUSED = 126
_SHELL = "nomos.rehearsal.host.shell"
_LOG = "nomos.rehearsal.host.ssh"

# paramiko reports every port scan as an error; without a handler of its own Python would print that on the terminal
logging.getLogger(_LOG).addHandler(logging.NullHandler())


class PracticeHost:
    """A practice host over one folder. Started again on that folder it is the same host: key, port and containers."""

    def __init__(self, folder: Path, authorized_key: str, *, port: int = 0, pace: float = 1.0) -> None:
        """:param folder: where it keeps everything; made if missing, private to this user.

        :param authorized_key: the only key that may sign in, as ``"<type> <base64>"`` with or without a comment.
        :param port: TCP port on 127.0.0.1; 0 takes the one of last time, or a free one.
        :param pace: factor on the time that stand-ins pretend to work; 1 is lifelike, 0 at once.
        """
        self.practice = Practice(folder.resolve())
        self._key_line = " ".join(authorized_key.split()[:2])
        self._wanted_port = port
        self._pace = pace
        self._listener: socket.socket | None = None
        self._transports: set[paramiko.Transport] = set()
        self._lock = threading.Lock()
        self._host_key: paramiko.PKey | None = None

    @property
    def port(self) -> int:
        """The port that it listens on. Only after ``start``."""
        if self._listener is None:
            raise RuntimeError("the practice host is not running")
        port: int = self._listener.getsockname()[1]
        return port

    def target(self) -> Target:
        """How Nomos reaches it, its host key included: nobody has to trust what we made ourselves. After ``start``."""
        return Target(
            name="practice",
            address="127.0.0.1",
            port=self.port,
            user="root",
            host_key=host_key(self._key()).line,
            job_base=str(self._job_base),
        )

    def calls(self) -> list[PctCall]:
        """Every ``pct`` call that was ever made here."""
        return self.practice.calls()

    def start(self) -> None:
        """Begin to listen. Raises OSError when the port asked for is taken."""
        folder = self.practice.folder
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        ensure_key(folder / "host_key")
        self._host_key = load_key(folder / "host_key" / KEY_NAME)
        self._write_interpreter()
        self._listener = self._listen()
        (folder / "port").write_text(f"{self.port}\n")
        threading.Thread(target=self._accept, args=(self._listener,), name="practice-host", daemon=True).start()

    def stop(self) -> None:
        """End listening and every connection. Jobs go on by themselves, as on any host."""
        listener, self._listener = self._listener, None
        if listener is not None:
            # wakes the thread that accepts; closing alone would not
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        self.drop()

    def drop(self) -> None:
        """Cut every connection without a word, as a failing network does. New ones are accepted."""
        with self._lock:
            transports = list(self._transports)
        for transport in transports:
            transport.close()

    def _key(self) -> paramiko.PKey:
        if self._host_key is None:
            raise RuntimeError("the practice host was never started")
        return self._host_key

    @property
    def _job_base(self) -> Path:
        return self._home / "jobs"

    @property
    def _home(self) -> Path:
        return self.practice.folder / "home"

    @property
    def _interpreter(self) -> Path:
        return self.practice.folder / "practice-shell"

    def _write_interpreter(self) -> None:
        """One path that the job script can call as ``PATH -c COMMAND``, with nothing taken from its environment."""
        words = [
            f"NOMOS_PRACTICE_FOLDER={shlex.quote(str(self.practice.folder))}",
            f"NOMOS_PRACTICE_PACE={self._pace:g}",
            f"PYTHONPATH={shlex.quote(str(_ROOT))}",
            "PYTHONDONTWRITEBYTECODE=1",
        ]
        # -S leaves site-packages out: the shell needs none, and starts twice as fast
        text = f'#!/bin/sh\nexport {" ".join(words)}\nexec {shlex.quote(sys.executable)} -S -m {_SHELL} "$@"\n'
        draft = self._interpreter.with_suffix(f".{os.getpid()}")
        draft.write_text(text)
        draft.chmod(0o700)
        draft.replace(self._interpreter)

    def _listen(self) -> socket.socket:
        remembered = self.practice.folder / "port"
        text = remembered.read_text().strip() if remembered.exists() else ""
        before = int(text) if text.isdecimal() else 0
        # below the ports that clients are given, so that none of them takes ours while we are down
        choices = [self._wanted_port] if self._wanted_port else [before, *random.sample(_PORTS, 50)]
        for port in choices:
            if not port:
                continue
            listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listener.bind(("127.0.0.1", port))
                listener.listen(64)
            except OSError:
                listener.close()
                if self._wanted_port:
                    raise
                continue
            return listener
        raise OSError("no free port for the practice host")

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._connection, args=(client,), name="practice-connection", daemon=True).start()

    def _connection(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        transport = paramiko.Transport(client)
        transport.set_log_channel(_LOG)
        transport.local_version = "SSH-2.0-NomosPracticeHost"
        transport.add_server_key(self._key())
        door = _Door(self._key_line)
        with self._lock:
            self._transports.add(transport)
        try:
            if self._listener is None:
                return
            transport.start_server(event=threading.Event(), server=door)
            signed_in_by = time.monotonic() + _PATIENCE
            while transport.is_active() and (transport.is_authenticated() or time.monotonic() < signed_in_by):
                channel = transport.accept(1.0)
                if channel is not None:
                    threading.Thread(
                        target=self._channel, args=(door, channel), name="practice-channel", daemon=True
                    ).start()
        finally:
            transport.close()
            door.shut()
            with self._lock:
                self._transports.discard(transport)

    def _channel(self, door: _Door, channel: paramiko.Channel) -> None:
        # an OSError here is the client's going away, or its silence
        with suppress(OSError, EOFError), channel:
            exec_text = door.wait_for_request(channel)
            if exec_text is None:
                return
            try:
                argv, first_input = self._admit(exec_text, channel)
            except NotServed as reason:
                channel.sendall_stderr(f"{reason}\n".encode())
                channel.send_exit_status(_REFUSED)
                return
            serve(channel, argv, first_input, self._environment(), self._home)

    def _admit(self, exec_text: str, channel: paramiko.Channel) -> tuple[list[str], bytes]:
        """Take the whole request in; returns what to run, and what to give it on its standard input."""
        data = b""
        channel.settimeout(_PATIENCE)
        while True:
            found = recognise(exec_text, data, base=self._job_base, interpreter=self._interpreter)
            if found is not None:
                break
            piece = channel.recv(64 * 1024)
            if not piece:
                raise NotServed("The practice host serves only Nomos's own job requests; this one ended too early.")
            data += piece
        channel.settimeout(None)
        request, rest = found
        return ["/bin/sh", "-s", "--", *request.words], request.wire() + rest

    def _environment(self) -> dict[str, str]:
        home = str(self._home)
        path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        return {"HOME": home, "USER": "root", "LOGNAME": "root", "SHELL": "/bin/sh", "PATH": path, "LANG": "C.UTF-8"}


class _Door(paramiko.ServerInterface):
    """Who may come in, and what may be asked: what is not answered here is refused by paramiko's own class."""

    def __init__(self, key_line: str) -> None:
        self._key_line = key_line
        self._requests: dict[int, str] = {}
        self._shut = False
        self._changed = threading.Condition()

    def wait_for_request(self, channel: paramiko.Channel) -> str | None:
        """What the client asked to be run in ``channel``; None when it asked for nothing that exists here."""
        number = channel.get_id()
        with self._changed:
            self._changed.wait_for(lambda: number in self._requests or self._shut or channel.closed, _PATIENCE)
            return self._requests.pop(number, None)

    def shut(self) -> None:
        """End all waiting: the connection is gone."""
        with self._changed:
            self._shut = True
            self._changed.notify_all()

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002 - paramiko's signature
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        right = username == "root" and f"{key.get_name()} {key.get_base64()}" == self._key_line
        return AUTH_SUCCESSFUL if right else AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:  # noqa: ARG002 - paramiko's signature
        return OPEN_SUCCEEDED if kind == "session" else OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        self._ask(channel, command.decode("utf-8", "replace"))
        return True

    def check_channel_shell_request(self, channel: paramiko.Channel) -> bool:
        # granted, so that a person who tries it reads a sentence and not a number
        self._ask(channel, "a shell")
        return True

    def _ask(self, channel: paramiko.Channel, text: str) -> None:
        with self._changed:
            self._requests[channel.get_id()] = text
            self._changed.notify_all()
