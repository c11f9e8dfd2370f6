"""The connection of one call, so that another thread can end it.

Closing a socket does not wake a thread that waits for it on Linux; shutting it down does. The HTTP library hands its
sockets over only through its tracing, so that is where they are picked up. A cut call cannot begin another attempt.
"""

from __future__ import annotations

import contextlib
import math
import socket
import threading
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from typing import Any

import httpx2

RETRY_AFTER_CEILING = 8.0  # seconds; the SDK would sleep as long as any server says, silently

_LONGEST = 31 * 86400.0  # a month: an endless wait must still be a number that can be added to a date
_CONNECTED = ("connect_tcp.complete", "connect_unix_socket.complete", "start_tls.complete")
_this_thread = threading.local()


class CallCut(Exception):
    """The call was ended from outside."""


class Wire:
    """Holds the socket of a call once there is one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cut = False

    def attach(self) -> None:
        """Make every request that this thread sends from now on belong to this call."""
        _this_thread.wire = self

    def cut(self) -> None:
        """End the call, whatever it is waiting for. May be called more than once, from any thread."""
        with self._lock:
            self._cut = True
            _shut(self._socket)

    def request_begins(self, request: httpx2.Request) -> None:
        """Watch for the connection of ``request``. Raises ``CallCut`` when the call was ended meanwhile."""
        with self._lock:
            if self._cut:
                raise CallCut
        request.extensions = {**request.extensions, "trace": self._trace}

    def _trace(self, name: str, info: Mapping[str, Any]) -> None:
        if not name.endswith(_CONNECTED):
            return
        found = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._socket = found
            if self._cut:
                _shut(found)


def before_request(request: httpx2.Request) -> None:
    """Hook of the HTTP client: tie the request to the call of the thread that sends it."""
    wire: Wire | None = getattr(_this_thread, "wire", None)
    if wire is not None:
        wire.request_begins(request)


def after_response(response: httpx2.Response) -> None:
    """Hook of the HTTP client: let the SDK's own retry wait no longer than ``RETRY_AFTER_CEILING``."""
    wait = retry_after(response.headers)
    if wait is not None and wait > RETRY_AFTER_CEILING:
        response.headers["x-should-retry"] = "false"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a response asks to wait, or None where it does not say or says nonsense."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        return None if math.isnan(seconds) or seconds < 0 else min(seconds, _LONGEST)
    date = parsedate_tz(headers.get("retry-after", ""))
    return min(max(0.0, mktime_tz(date) - time.time()), _LONGEST) if date else None


def _shut(connection: socket.socket | None) -> None:
    if connection is None:
        return
    # The base class's own shutdown: an SSL socket's would drop its TLS state under the thread that reads from it.
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
