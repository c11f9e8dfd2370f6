"""Measures the feed, its streams, and processes that have nothing to do."""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection

from nomos.actions import sessions as session_actions
from nomos.rehearsal.bench.client import PATIENCE, Feed, NothingCame, Seen
from nomos.rehearsal.bench.rounds import counted
from nomos.rehearsal.bench.seed import MESSAGES
from nomos.rehearsal.bench.stage import Stage

STREAMS = 200
_IDLE_SECONDS = 3.0
_SETTLED_SECONDS = 1.0  # until a process that has just worked is idle again

Values = Mapping[str, list[float]]


def idle(stage: Stage, rounds: int) -> Values:
    """``idle_web``, ``idle_worker``: shares of one processor, over a few seconds each."""
    parts = {"idle_web": stage.web, "idle_worker": stage.worker}
    values: dict[str, list[float]] = {name: [] for name in parts}
    with Feed(stage.client):
        time.sleep(_SETTLED_SECONDS)
        for _ in range(min(rounds, 3)):
            began = time.monotonic()
            before = {name: part.processor() for name, part in parts.items()}
            time.sleep(_IDLE_SECONDS)
            took = time.monotonic() - began
            for name, part in parts.items():
                values[name].append((part.processor() - before[name]) / took * 100)
    return values


def commits(stage: Stage, rounds: int) -> Values:
    """``commit``: a session is renamed by this process, and the web process tells."""
    values: list[float] = []
    session_id = stage.client.new_session()
    with Feed(stage.client) as feed:
        for number in counted(rounds):
            title, place = f"Commit {number}", feed.place
            began = time.monotonic()
            session_actions.change(stage.store, session_id, stage.clock.now(), title=title, archived=None)
            seen = feed.first("a change", _titled(title), place)
            values.append((seen.at - began) * 1000)
    return {"commit": values}


def _titled(title: str) -> Callable[[Seen], bool]:
    return lambda seen: bool(seen.data.get("title") == title)


def streams(stage: Stage, rounds: int) -> Values:
    """``stream_memory`` and ``fanout``: with many streams open of which none has anything to say."""
    session_id = stage.client.new_session()
    with Feed(stage.client):  # what the first stream of a process costs is not what each one costs
        time.sleep(_SETTLED_SECONDS)
        before = stage.web.memory()
        with contextlib.ExitStack() as stack:
            connections = [_open_stream(stage, stack) for _ in range(STREAMS)]
            sockets = [connection.sock for connection in connections]
            _read_all(sockets, b"event: current", time.monotonic())
            time.sleep(_SETTLED_SECONDS)
            memory = (stage.web.memory() - before) / STREAMS / 1024
            fanout = []
            for number in counted(rounds):
                title = f"Fan-out {number}."
                began = time.monotonic()
                session_actions.change(stage.store, session_id, stage.clock.now(), title=title, archived=None)
                fanout.append(_read_all(sockets, title.encode(), began) * 1000)
    return {"stream_memory": [memory], "fanout": fanout}


def _open_stream(stage: Stage, stack: contextlib.ExitStack) -> HTTPConnection:
    connection = stage.client.open()
    stack.callback(connection.close)
    stage.client.request(connection, "GET", "/api/v1/events")
    return connection


def _read_all(sockets: Sequence[socket.socket], words: bytes, began: float) -> float:
    """Read until each socket has brought ``words``; returns the seconds since ``began`` at the last of them."""
    brought = dict.fromkeys(sockets, b"")
    with selectors.DefaultSelector() as selector:
        for one in sockets:
            selector.register(one, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(PATIENCE)
            if not ready:
                raise NothingCame(f"{len(selector.get_map())} streams did not bring {words.decode()}")
            for key, _ in ready:
                assert isinstance(key.fileobj, socket.socket)
                brought[key.fileobj] += key.fileobj.recv(65536)
                if words in brought[key.fileobj]:
                    selector.unregister(key.fileobj)
    return time.monotonic() - began


def snapshots(stage: Stage, rounds: int) -> Values:
    """``snapshot``, ``snapshot_whole``: over HTTP, on a connection of their own as after a reload."""
    paths = {"snapshot": "", "snapshot_whole": f"?limit={MESSAGES}"}
    values: dict[str, list[float]] = {name: [] for name in paths}
    for _ in counted(rounds):
        for name, query in paths.items():
            began = time.monotonic()
            stage.client.call("GET", f"/api/v1/sessions/{stage.long_session}{query}")
            values[name].append((time.monotonic() - began) * 1000)
    return values
