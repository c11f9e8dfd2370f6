"""Joins everything: the only place that knows which model, which shell, which clock."""

from __future__ import annotations

import hashlib
import logging
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from flask import Flask

from nomos.actions import hosts as host_actions
from nomos.actions import workers as worker_actions
from nomos.actions.growth import Gatherer
from nomos.agent.asking import Asking
from nomos.agent.calls import Calls
from nomos.agent.turn import TurnRunner
from nomos.clock import Clock, SystemClock
from nomos.config import Settings
from nomos.domain.continuations import Limits
from nomos.live.hub import Hub
from nomos.live.tailer import Tailer
from nomos.llm.anthropic_model import AnthropicModel
from nomos.llm.base import Model
from nomos.rehearsal.host.server import PracticeHost
from nomos.rehearsal.model.scenarios import MODEL_NAME, RehearsalModel
from nomos.ssh.keys import KEY_NAME, ensure_key, fingerprint
from nomos.ssh.paramiko_shell import ParamikoShell
from nomos.store import schema
from nomos.store.engine import DatabaseClock, Store, configure
from nomos.store.hints import Hints, PostgresHints, SocketHints, Wakeup
from nomos.web import assets
from nomos.web.app import install
from nomos.web.context import Web
from nomos.worker.continuations import Continuations
from nomos.worker.executions import Executions
from nomos.worker.hosts import HostTests
from nomos.worker.loop import Worker, owner_name

LEASE = 15.0  # seconds
LONGEST_SOCKET_PATH = 70  # characters; a Unix socket's path holds 107, its name takes up to 30 of them
PRACTICE = "practice"


@dataclass(frozen=True, slots=True)
class Core:
    """What every process needs: the database, opened and at today's schema, and a clock that leases can rest on."""

    settings: Settings
    app: Flask
    store: Store
    clock: Clock


def open_core(settings: Settings) -> Core:
    """Open the data folder and the database, and bring the schema up to date.

    :raises DatabaseTooNew: a newer Nomos wrote the database.
    """
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("paramiko", "apscheduler", "alembic", "httpx2", "nomos.ssh.wire", "nomos.rehearsal.host.ssh"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    root = Path(__file__).parents[1]
    app = Flask("nomos", root_path=str(root), template_folder="templates", static_folder=None)
    engine = configure(app, settings.database)
    schema.register(app)
    schema.upgrade_to_head(app, engine)
    hints: Hints = SocketHints(_socket_folder(settings)) if engine.dialect.name == "sqlite" else PostgresHints(engine)
    store = Store(engine, hints)
    local = SystemClock()
    clock: Clock = DatabaseClock(store, local) if store.shared else local
    store.prepare(local.now())
    return Core(settings, app, store, clock)


def _socket_folder(settings: Settings) -> Path:
    folder = settings.home / "hints"
    if len(str(folder)) > LONGEST_SOCKET_PATH:
        name = hashlib.sha256(str(folder).encode()).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"nomos-{os.getuid()}-{name}"
    return folder


def create_app(settings: Settings) -> Flask:
    """The web process's application."""
    core = open_core(settings)
    hub = Hub(f"http://{settings.bind}/")
    parts = Web(
        store=core.store,
        clock=core.clock,
        hub=hub,
        tailer=Tailer(core.store, core.clock, hub, Wakeup()),
        home=settings.home,
        public_key=own_key(settings),
        assent_minutes=settings.assent_minutes,
        rehearses_model=settings.rehearses,
        static_version=assets.tree_hash(),
    )
    install(core.app, parts)
    return core.app


def own_key(settings: Settings) -> str:
    """Nomos's own public key, made at the first call."""
    return ensure_key(settings.home / "ssh")


def create_shell(settings: Settings) -> ParamikoShell:
    """The shell that reaches real hosts, signing in with Nomos's own key unless a host names another."""
    own_key(settings)
    return ParamikoShell(settings.home / "ssh" / KEY_NAME)


@dataclass(frozen=True, slots=True)
class Running:
    """A worker and the ends of what was started for it."""

    worker: Worker
    close: Callable[[], None]


def create_worker(core: Core) -> Running:
    """A worker, with the rehearsal's parts where the settings ask for them."""
    settings, store, clock = core.settings, core.store, core.clock
    owner = owner_name()
    wakeup = Wakeup()
    gatherer = Gatherer(store, clock, settings.output_kept)
    shell = create_shell(settings)
    model, end_model = _model(settings)
    end_practice = _practice_host(core) if settings.rehearses else _nothing
    limits = Limits(settings.assent_minutes, settings.max_continuations)
    runner = TurnRunner(
        store=store,
        clock=clock,
        wakeup=wakeup,
        asking=Asking(store, clock, gatherer, model, settings.retry_seconds),
        calls=Calls(store, clock, wakeup, settings.sync_seconds),
        limits=limits,
        lease=LEASE,
        max_steps=settings.max_steps,
        on_model=_model_watch(store, clock, owner),
    )
    worker = Worker(
        store=store,
        clock=clock,
        wakeup=wakeup,
        gatherer=gatherer,
        continuations=Continuations(store, clock, runner, owner, limits, LEASE, settings.workers),
        executions=Executions(store, clock, shell, gatherer, owner, LEASE, settings.execution_timeout),
        host_tests=HostTests(store, clock, shell),
        owner=owner,
        lease=LEASE,
        model_name=model.name,
    )

    def close() -> None:
        shell.close()
        end_practice()
        end_model()
        store.close()

    return Running(worker, close)


def _nothing() -> None:
    return None


def _model(settings: Settings) -> tuple[Model, Callable[[], None]]:
    if not settings.rehearses:
        model = AnthropicModel(
            settings.api_key, settings.base_url or None, settings.model, total_deadline=settings.model_timeout
        )
        return model, _nothing
    server = RehearsalModel(tokens_per_second=settings.rehearsal_speed)
    server.start()
    stand_in = AnthropicModel("rehearsal", server.url, MODEL_NAME, total_deadline=settings.model_timeout)
    return stand_in, server.stop


def _practice_host(core: Core) -> Callable[[], None]:
    """Start the practice host and put it into the inventory. Its commands are stand-ins; nothing real is run."""
    host = PracticeHost(core.settings.home / "practice", own_key(core.settings), pace=core.settings.practice_pace)
    host.start()
    target = host.target()
    assert target.host_key is not None
    host_actions.place_practice_host(
        core.store, PRACTICE, target.address, target.port, target.user, target.host_key,
        fingerprint(target.host_key), core.clock.now(),
    )  # fmt: skip
    return host.stop


def _model_watch(store: Store, clock: Clock, owner: str) -> Callable[[str | None], None]:
    """Notes how the model service is found, when that changes."""
    last: list[str | None] = [None]

    def note(fault: str | None) -> None:
        if fault != last[0]:
            last[0] = fault
            worker_actions.note_model(store, owner, clock.moment(), fault=fault)

    return note
