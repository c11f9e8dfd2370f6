"""The worker process, with the rehearsal's parts where the settings ask for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nomos.actions import hosts as host_actions
from nomos.actions import workers as worker_actions
from nomos.actions.growth import Gatherer
from nomos.agent.asking import Asking
from nomos.agent.calls import Calls
from nomos.agent.turn import TurnRunner
from nomos.bootstrap.core import Core
from nomos.clock import Clock
from nomos.config import Settings
from nomos.domain.continuations import Limits
from nomos.domain.undo import Snapshots
from nomos.llm.anthropic_model import AnthropicModel
from nomos.llm.base import Model
from nomos.rehearsal.host.server import PracticeHost
from nomos.rehearsal.model.scenarios import MODEL_NAME, RehearsalModel
from nomos.ssh.base import Shell
from nomos.ssh.keys import KEY_NAME, ensure_key, fingerprint
from nomos.ssh.paramiko_shell import ParamikoShell
from nomos.store.engine import Store
from nomos.store.hints import Wakeup
from nomos.worker.continuations import Continuations
from nomos.worker.executions import Executions
from nomos.worker.guard import Guards
from nomos.worker.hosts import HostTests
from nomos.worker.loop import Worker
from nomos.worker.recovery import Recovery, owner_name

LEASE = 15.0  # seconds
PRACTICE = "practice"


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


def create_worker(
    core: Core, *, around_shell: Callable[[Shell], Shell] | None = None,
    around_model: Callable[[Model], Model] | None = None, lease: float = LEASE,
) -> Running:  # fmt: skip
    """A worker, with the rehearsal's parts where the settings ask for them.

    :param around_shell: what to put around the way to hosts, and :param around_model: around the model: a test of
        crashes dies in there. :param lease: seconds a claim holds without a sign of life.
    """
    settings, store, clock = core.settings, core.store, core.clock
    owner = owner_name()
    wakeup = Wakeup()
    gatherer = Gatherer(store, clock, settings.output_kept)
    shell: Shell = create_shell(settings)
    model, end_model = _model(settings)
    shell = around_shell(shell) if around_shell else shell
    model = around_model(model) if around_model else model
    end_practice = _practice_host(core) if settings.rehearses else _nothing
    limits = Limits(settings.assent_minutes, settings.max_continuations)
    runner = TurnRunner(
        store=store,
        clock=clock,
        wakeup=wakeup,
        asking=Asking(store, clock, gatherer, model, settings.retry_seconds),
        calls=Calls(store, clock, wakeup, settings.sync_seconds, Snapshots(settings.snapshots)),
        limits=limits,
        lease=lease,
        max_steps=settings.max_steps,
        on_model=_model_watch(store, clock, owner),
    )
    worker = Worker(
        store=store,
        clock=clock,
        wakeup=wakeup,
        gatherer=gatherer,
        continuations=Continuations(store, clock, runner, owner, limits, lease, settings.workers),
        executions=Executions(
            store,
            clock,
            shell,
            gatherer,
            owner,
            lease,
            settings.execution_timeout,
            settings.execution_silence,
            guards=Guards(shell, settings.guard_seconds),
        ),
        host_tests=HostTests(store, clock, shell),
        recovery=Recovery(store, clock),
        owner=owner,
        lease=lease,
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
        # A server at home often asks for no key; the SDK still has to send one.
        key = settings.api_key or ("no-key" if settings.base_url else "")
        model = AnthropicModel(key, settings.base_url or None, settings.model, total_deadline=settings.model_timeout)
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
