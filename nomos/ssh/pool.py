"""Connections to one host, kept and shared, and the channels on them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import paramiko

from nomos.errors import HostFault, HostUnreachable, HostUnusable
from nomos.ssh.base import HostFacts, Target
from nomos.ssh.connection import Deadlines, hang_up, place

CHANNELS = 8
"""Channels on one connection: OpenSSH allows 10 (MaxSessions)."""

CONNECTIONS = 10
"""Kept connections to one host; one is enough until it has no channel left. All channels together are more than a
worker follows executions, so that there is always one to spare for a request."""

_FAULTS = (paramiko.SSHException, EOFError, OSError)


class _Refused(Exception):
    """The host opens no more channels on this connection."""


class _Dead(Exception):
    """The connection has ended or hangs."""


def _close(channel: paramiko.Channel) -> None:
    with contextlib.suppress(*_FAULTS):  # it says goodbye, and the connection may be gone
        channel.close()


class Link:
    """One kept connection, the count of its channels in use, and what a probe over it found."""

    def __init__(self, transport: paramiko.Transport) -> None:
        self.transport = transport
        self.capacity = CHANNELS
        self.used = 0
        self.facts: HostFacts | None = None


class Pool:
    """The connections to one host. Safe to use from many threads.

    ``connect`` makes a signed-in connection or raises a HostFault; the pool calls it from one thread at a time, and
    whoever waits meanwhile shares its outcome.
    """

    def __init__(self, target: Target, connect: Callable[[], paramiko.Transport], deadlines: Deadlines) -> None:
        self._target = target
        self._connect = connect
        self._deadlines = deadlines
        self._changed = threading.Condition()
        self._links: list[Link] = []
        self._connecting: Future[None] | None = None

    @contextlib.contextmanager
    def channel(self, exec_text: str) -> Iterator[paramiko.Channel]:
        """A channel on which the host has begun ``exec_text``, closed afterwards. Nothing was sent to its stdin yet.

        A kept connection that turns out to be dead is replaced. Raises a HostFault; then nothing can have been started,
        because what is to be done only comes on stdin.
        """
        link, channel = self._open(exec_text)
        try:
            yield channel
        finally:
            _close(channel)
            self._give_back(link)

    def remember(self, channel: paramiko.Channel, facts: HostFacts) -> None:
        """Keep what a probe over this channel found, for as long as its connection is open."""
        with self._changed:
            for link in self._links:
                if link.transport is channel.get_transport():
                    link.facts = facts

    def facts(self) -> HostFacts | None:
        """What was found over a connection that is still open; None if there is none."""
        with self._changed:
            self._forget_ended()
            return next((link.facts for link in self._links if link.facts is not None), None)

    def close(self) -> None:
        """Hang up everything."""
        with self._changed:
            links, self._links = self._links, []
        for link in links:
            hang_up(link.transport)

    def _open(self, exec_text: str) -> tuple[Link, paramiko.Channel]:
        deadline = time.monotonic() + self._deadlines.answer
        while True:
            link, fresh = self._reserve(deadline)
            try:
                return link, self._begin(link, exec_text)
            except _Refused as error:
                self._give_back(link, refused=True)
                if time.monotonic() > deadline:
                    raise HostUnusable(f"{place(self._target)} allows no session: {error}.") from error
            except _Dead as error:
                self._drop(link)
                if fresh:
                    raise HostUnreachable(
                        f"{place(self._target)} ended the connection before a session began: {error}."
                    ) from error
            except HostUnusable:
                self._give_back(link)
                raise

    def _begin(self, link: Link, exec_text: str) -> paramiko.Channel:
        limit = self._deadlines.answer
        begun = time.monotonic()
        try:
            channel = link.transport.open_session(timeout=limit)
        except _FAULTS as error:
            if link.transport.is_active() and time.monotonic() - begun < limit:
                raise _Refused(error) from error  # the host allows fewer channels than we thought
            raise _Dead(error) from error
        # paramiko waits for the answer to an exec request without a limit; closing the channel ends that wait.
        timer = threading.Timer(limit, _close, [channel])
        timer.daemon = True
        timer.start()
        try:
            channel.exec_command(exec_text)
        except _FAULTS as error:
            _close(channel)
            if link.transport.is_active() and time.monotonic() - begun < limit:
                raise HostUnusable(f"{place(self._target)} runs no commands: {error}. Nothing was started.") from error
            raise _Dead(error) from error
        finally:
            timer.cancel()
        return channel

    def _reserve(self, deadline: float) -> tuple[Link, bool]:
        """A connection with a channel to spare, counted as used, and whether it was made just now."""
        fresh = False
        while True:
            with self._changed:
                self._forget_ended()
                for link in self._links:
                    if link.used < link.capacity:
                        link.used += 1
                        return link, fresh
                waiting = self._connecting
                if waiting is None and len(self._links) >= CONNECTIONS:
                    if not self._changed.wait(deadline - time.monotonic()) and time.monotonic() > deadline:
                        raise HostUnusable(f"All connections to {place(self._target)} are busy. Try again.")
                    continue
                if waiting is None:
                    self._connecting = Future()
            if waiting is None:
                self._add_link()
                fresh = True
            else:
                try:
                    waiting.result()
                except HostFault as fault:
                    # A new instance: one exception raised in many threads mixes up their tracebacks.
                    raise type(fault)(fault.detail) from fault

    def _add_link(self) -> None:
        waiting = self._connecting
        assert waiting is not None
        try:
            transport = self._connect()
        except BaseException as error:
            with self._changed:
                self._connecting = None
            waiting.set_exception(error)
            raise
        with self._changed:
            self._links.append(Link(transport))
            self._connecting = None
        waiting.set_result(None)

    def _forget_ended(self) -> None:
        for link in [link for link in self._links if not link.transport.is_active()]:
            self._links.remove(link)
            hang_up(link.transport)

    def _give_back(self, link: Link, *, refused: bool = False) -> None:
        with self._changed:
            link.used -= 1
            if refused:
                if link.used == 0:
                    self._changed.wait(0.2)
                link.capacity = max(1, link.used)
            spare = link.used == 0 and len(self._links) > 1 and link in self._links
            if spare:
                self._links.remove(link)
            self._changed.notify_all()
        if spare:
            hang_up(link.transport)

    def _drop(self, link: Link) -> None:
        with self._changed:
            link.used -= 1
            if link in self._links:
                self._links.remove(link)
            self._changed.notify_all()
        hang_up(link.transport)
