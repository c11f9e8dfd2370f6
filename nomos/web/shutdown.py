"""The end of a web process: every open stream says ``bye`` and ends, so that nobody waits for the other."""

from __future__ import annotations

from nomos.live.hub import Hub

_hubs: list[Hub] = []


def watch(hub: Hub) -> None:
    """Have ``begin`` end this hub's streams."""
    _hubs.append(hub)


def begin() -> None:
    """End all streams of this process. Called by gunicorn's worker as soon as it is told to stop."""
    for hub in _hubs:
        hub.end()
