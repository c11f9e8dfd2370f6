"""How gunicorn serves Nomos: ``gunicorn app:app``, in this folder, reads this file by itself.

Facts are from gunicorn 27's gevent worker, tried with open streams: see docs/adr/0005-gevent-only-in-web.md.
"""

from __future__ import annotations

import errno
import logging
import socket
import threading
import time
from typing import Any

from nomos.config import Settings
from nomos.errors import SettingError

try:
    bind = Settings.from_env().bind
except SettingError as error:
    raise SystemExit(str(error)) from None

worker_class = "gevent"
# One process: a stream's queue and the limit on streams belong to one process, and SQLite has one writer anyway.
workers = 1
# Well above the number of streams that Nomos itself allows, so that it is Nomos that refuses one more, and says so.
worker_connections = 2000
# Streams end by themselves with ``bye``; this bounds a request that does not.
graceful_timeout = 5
# Seconds; also what an idle connection may add to a shutdown.
keepalive = 2
# A worker that is restarted after so many requests cuts every stream.
max_requests = 0
# Another way in that nobody needs; it would also put a socket into the home folder.
control_socket_disable = True
accesslog = None

SEND_BUFFER = 64 * 1024  # bytes; with the system's 4 MB a stalled reader keeps that much and is noticed late
UNACKNOWLEDGED = 20_000  # milliseconds until a reader that takes nothing is cut


class StalledReaders(logging.Filter):
    """Keep the traceback of a reader that went away by itself out of the log: it is no fault of ours."""

    _USUAL = frozenset({errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EBADF})

    def filter(self, record: logging.LogRecord) -> bool:
        """Let everything through but a socket error that only says that the other end is gone."""
        error = record.exc_info[1] if record.exc_info else None
        return not (isinstance(error, OSError) and error.errno in self._USUAL)


def post_worker_init(worker: Any) -> None:
    """Bound what a stalled reader can keep, and end the streams as soon as the worker is told to stop."""
    from nomos.web import shutdown  # noqa: PLC0415 - only here is the standard library patched

    worker.log.error_log.addFilter(StalledReaders())
    for listener in worker.sockets:
        if listener.family in {socket.AF_INET, socket.AF_INET6}:
            # Linux hands both on to every connection that is accepted here.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED)

    def watch() -> None:
        # There is no hook at the start of a worker's shutdown; ``alive`` is what its signal handlers clear.
        while worker.alive:
            time.sleep(0.1)
        # A stream that has said bye would wait out its keep-alive for another request.
        worker.cfg.set("keepalive", 0)
        shutdown.begin()

    threading.Thread(target=watch, name="shutdown", daemon=True).start()
