"""Small acts on a real store, as web, worker and agent do them: so that a test reads as a story."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nomos.actions import approvals, executions, hosts, messages, plans, sessions, turns
from nomos.actions.plans import Draft
from nomos.actions.turns import Turn
from nomos.clock import SettableClock
from nomos.domain.approvals import Approval, ApprovalState, Route, Verdict
from nomos.domain.continuations import Limits
from nomos.domain.executions import Execution, State
from nomos.domain.messages import Block, Message, MessageStatus
from nomos.domain.plans import Plan
from nomos.domain.replies import Reply
from nomos.domain.sessions import Ending
from nomos.domain.snapshots import SessionSnapshot
from nomos.domain.windows import Scope
from nomos.store import approvals as approval_rows
from nomos.store import hosts as host_rows
from nomos.store import snapshots
from nomos.store.engine import Store
from nomos.store.executions import ExecutionClaim

LEASE = 15.0
LIMITS = Limits(assent_minutes=30, max_continuations=50)
MINUTES = 30
HOST = "nas"
CHANGE = "systemctl restart web"
READ = "uptime"
DESTROY = "rm -rf /srv/old"


def text(words: str) -> dict[str, Any]:
    """A text block of the model."""
    return {"type": "text", "text": words}


def call(name: str = "run", **given: Any) -> dict[str, Any]:
    """A tool call of the model."""
    return {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": name, "input": given}


def reply(*content: Mapping[str, Any]) -> Reply:
    """A complete answer of the model."""
    calls = any(part["type"] == "tool_use" for part in content)
    stop_reason = "tool_use" if calls else "end_turn"
    return Reply(tuple(content), stop_reason, True, "test-model", closed=frozenset(range(len(content))))


@dataclass(slots=True)
class Scene:
    """One session on a store. ``steps`` counts the answers of each turn."""

    store: Store
    clock: SettableClock
    session_id: str = ""
    owner: str = "worker-1"
    steps: dict[str, int] = field(default_factory=dict)

    def begin(self) -> Scene:
        """Add the host (once a store) and open the session."""
        with self.store.read() as connection:
            there = host_rows.by_name(connection, HOST)
        if there is None:
            hosts.add(self.store, HOST, "root@127.0.0.1:22", self.clock.now())
        self.session_id = sessions.open_session(self.store, None, self.clock.now()).id
        return self

    def say(self, words: str, *, client_id: str | None = None, may_decide: bool = True) -> Message:
        """The operator writes."""
        return messages.send(
            self.store, self.session_id, client_id or uuid.uuid4().hex, words, self.clock.moment(), by="ada",
            minutes=MINUTES, may_decide=may_decide,
        )  # fmt: skip

    def turn(self, owner: str | None = None, limits: Limits = LIMITS) -> Turn | None:
        """The poller looks once."""
        return turns.claim_due(self.store, owner or self.owner, self.clock.moment(), LEASE, limits)[1]

    def must_turn(self) -> Turn:
        """The poller looks once, and there is a turn."""
        turn = self.turn()
        assert turn is not None
        return turn

    def accept(self, turn: Turn, answer: Reply, *, nudge: str | None = None) -> tuple[Block, ...]:
        """An answer is stored. Returns its calls."""
        step = self.steps.get(turn.message.id, 0)
        blocks = turns.accept(
            self.store, turn.claim, turn.message.id, step, answer, {}, self.clock.now(), nudge=nudge
        )  # fmt: skip
        self.steps[turn.message.id] = step + 1
        return blocks

    def run(self, turn: Turn, command: str, *, asynchronous: bool = False) -> tuple[Block, Execution]:
        """The agent calls ``run``, and the execution is stored."""
        (block,) = self.accept(turn, reply(call(host=HOST, command=command, reason="because")))
        execution = executions.request(
            self.store, turn.claim, turn.message.id, block.id, self.clock.moment(), host=HOST, command=command,
            reason="because", asynchronous=asynchronous,
        )  # fmt: skip
        return block, execution

    def answer(self, turn: Turn, block: Block, execution: Execution) -> str | None:
        """The call is answered with how its execution stands."""
        return turns.answer_with(self.store, turn.claim, block.id, execution.id, self.clock.now(), must=True)

    def propose(self, turn: Turn, *commands: str) -> Plan:
        """The agent proposes a plan."""
        (block,) = self.accept(turn, reply(call("propose_plan", goal="a goal")))
        return plans.propose(
            self.store, turn.claim, turn.message.id, block.id, self.clock.now(), goal="a goal", verify="look",
            drafts=[Draft(HOST, command, "because") for command in commands],
        )  # fmt: skip

    def end(
        self, turn: Turn, status: MessageStatus = MessageStatus.DONE, ending: Ending = Ending.TALK,
        notice: str | None = None,
    ) -> None:  # fmt: skip
        """The turn ends."""
        turns.end(
            self.store, turn.claim, turn.message.id, status, ending, self.clock.now(), notice=notice,
            open_calls="This call was interrupted.",
        )  # fmt: skip

    def decide(self, approval: Approval, verdict: Verdict = Verdict.APPROVE, scope: Scope | None = None) -> Approval:
        """The operator presses a button."""
        return approvals.settle(
            self.store, approval.id, verdict, self.clock.moment(), by="ada", route=Route.BUTTON, digest=approval.digest,
            scope=scope, minutes=MINUTES,
        )  # fmt: skip

    def pending(self) -> tuple[Approval, ...]:
        """The questions that are open."""
        with self.store.read() as connection:
            return approval_rows.of_session(connection, self.session_id, ApprovalState.PENDING)

    def take(self, owner: str | None = None) -> tuple[ExecutionClaim, Execution] | None:
        """A worker takes an execution."""
        return executions.claim_next(self.store, owner or self.owner, self.clock.moment(), LEASE)

    def start(self) -> ExecutionClaim:
        """A worker takes an execution and starts it."""
        taken = self.take()
        assert taken is not None
        assert executions.begin(self.store, taken[0], "boot", self.clock.moment()) is not None
        executions.running(self.store, taken[0], self.clock.now())
        return taken[0]

    def carry_out(self, state: State = State.SUCCEEDED, exit_code: int | None = 0) -> Execution:
        """A worker takes an execution and brings it to its end."""
        return executions.finish(self.store, self.start(), state, self.clock.now(), exit_code=exit_code)

    def plan_approved(self, *commands: str) -> Plan:
        """A whole first turn: the operator asks, the agent proposes, the operator approves by button."""
        self.say("please")
        turn = self.must_turn()
        plan = self.propose(turn, *commands)
        self.accept(turn, reply(text("Shall I?")))
        self.end(turn)
        (approval,) = self.pending()
        self.decide(approval)
        return plan

    def snapshot(self) -> SessionSnapshot:
        """The session as a page would be drawn from."""
        with self.store.read() as connection:
            return snapshots.session(connection, self.session_id)
