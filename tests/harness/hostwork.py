"""The part of a worker that carries executions, over a real SSH server and a database of the test's own."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nomos.actions import executions as actions
from nomos.actions.growth import Gatherer
from nomos.clock import SettableClock, SystemClock
from nomos.domain.approvals import ApprovalKind
from nomos.domain.digests import command_digest
from nomos.domain.executions import ENDED, Execution, Risk, State
from nomos.domain.hosts import HostState
from nomos.domain.lockout import Danger, look
from nomos.domain.windows import Scope
from nomos.risk import classify
from nomos.ssh.paramiko_shell import ParamikoShell
from nomos.store import approvals, executions, hosts, output
from nomos.store.engine import Store
from nomos.store.executions import new_id
from nomos.worker.executions import Executions
from nomos.worker.guard import Guards
from tests.harness.database import Templates
from tests.harness.scene import HOST, Scene, call, reply
from tests.harness.sshd import Sshd
from tests.harness.wait import wait_for


@dataclass
class HostWork:
    """Executions on the host ``HOST`` of the inventory, which ``server`` is."""

    server: Sshd
    folder: Path
    store: Store
    scene: Scene
    clock: SystemClock
    shell: ParamikoShell
    gatherer: Gatherer
    worker: Executions

    def ask(self, command: str, risk: Risk = Risk.CHANGE, *, parallel: bool = False) -> str:
        """Have the operator allow a command, and let the worker take it. ``risk``: at least this."""
        self.scene.say("please")
        turn = self.scene.must_turn()
        (block,) = self.scene.accept(turn, reply(call(host=HOST, command=command, reason="because")))
        risk = max(risk, classify(command).asks_as, key=lambda each: each.rank)
        with self.store.write(self.clock.now()) as tx:
            host = hosts.by_name(tx.c, HOST)
            assert host is not None
            execution = Execution(
                id=new_id(), session_id=self.scene.session_id, message_id=turn.message.id, block_id=block.id, host=HOST,
                command=command, reason="because", risk=risk, risk_why="", state=State.WAITING,
                digest=command_digest(self.scene.session_id, host.identity.digest, command, risk), asynchronous=False,
                queued_at=None, parallel=parallel,
            )  # fmt: skip
            approval = approvals.add(
                tx, session_id=execution.session_id, kind=ApprovalKind.COMMAND, risk=risk, title="", reason="because",
                digest=execution.digest, bound=(host.identity,), scopes=(Scope.ONCE,), execution_id=execution.id,
                command=command, host=HOST,
            )  # fmt: skip
            executions.add(tx, dataclasses.replace(execution, approval_id=approval.id))
        self.scene.decide(approval)
        self.scene.end(turn)
        self.worker.tick()
        return execution.id

    def now(self, execution_id: str) -> Execution:
        """The execution as it is stored."""
        with self.store.read() as connection:
            return executions.get(connection, execution_id)

    def output(self, execution_id: str) -> bytes:
        """What is stored of its output."""
        with self.store.read() as connection:
            return output.read(connection, execution_id)[1]

    def until_said(self, execution_id: str, words: bytes, timeout: float = 20) -> None:
        """Wait until its stored output holds ``words``."""
        wait_for(lambda: words in self.output(execution_id), timeout, what=f"{words!r} in the output")

    def until_ended(self, execution_id: str, timeout: float = 30) -> Execution:
        """Wait for its end."""
        return wait_for(
            lambda: found if (found := self.now(execution_id)).state in ENDED else None, timeout, what="its end"
        )

    def cancel(self, execution_id: str) -> None:
        """The operator asks for its end."""
        actions.cancel(self.store, execution_id, self.clock.now(), by="ada")


@contextmanager
def host_work(
    server: Sshd, folder: Path, *, cap: int = 10_000_000, kill_after: float = 10.0, guard_seconds: int = 120,
    silence: int = 0,
    rules: Callable[[str], Danger | None] = look,
) -> Iterator[HostWork]:  # fmt: skip
    """A worker's executions, ended with the block. ``cap``: bytes of output stored of an execution.

    ``silence``: seconds without output that end one.
    ``rules``: what may be feared of a command, and ``guard_seconds`` after which the host undoes it by itself.
    """
    database = Templates(folder).sqlite(folder)
    clock = SystemClock()
    store = database.open()
    scene = Scene(store, SettableClock(clock.now())).begin()
    with store.write(clock.now()) as tx:
        host = hosts.by_name(tx.c, HOST)
        assert host is not None
        target = server.target()
        hosts.change(
            tx, host.id, address=target.address, port=target.port, user=target.user, host_key=target.host_key,
            key_path=target.key_path, job_base=target.job_base, state=HostState.UNTESTED,
        )  # fmt: skip
    gatherer = Gatherer(store, clock, cap)
    shell = ParamikoShell(server.key_path)
    guards = Guards(shell, guard_seconds, rules)
    worker = Executions(store, clock, shell, gatherer, "worker", 600.0, 600, silence, kill_after, guards)
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(0.2):
            worker.tick()

    threads = [threading.Thread(target=gatherer.run, name="growth"), threading.Thread(target=poll, name="poll")]
    for thread in threads:
        thread.start()
    try:
        yield HostWork(server, folder, store, scene, clock, shell, gatherer, worker)
    finally:
        ended.set()
        worker.close()
        gatherer.close()
        for thread in threads:
            thread.join(10)
        wait_for(lambda: not worker.following, what="the followers to end")
        shell.close()
        database.close()
