"""What the views work with, joined in ``bootstrap``."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import cast

from flask import current_app

from nomos.clock import Clock
from nomos.live.hub import Hub
from nomos.live.tailer import Tailer
from nomos.store.engine import Store


@dataclass(frozen=True, slots=True)
class Web:
    """The web process's parts. ``public_key``: Nomos's own, as one line for ``authorized_keys``."""

    store: Store
    clock: Clock
    hub: Hub
    tailer: Tailer
    home: Path
    public_key: str
    assent_minutes: int
    rehearses_model: bool
    static_version: str

    def now(self) -> datetime:
        """Wall time."""
        return self.clock.now()


def web() -> Web:
    """The parts of the application that answers now."""
    return cast(Web, current_app.extensions["nomos"])
