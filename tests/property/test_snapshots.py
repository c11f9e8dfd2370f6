"""A snapshot and the events after it make the next snapshot: for every action, in any order.

A machine acts on a real store as operator, worker and agent do. Beside it a client keeps what the page keeps, by events
alone, and after each act both must say the same.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nomos.actions import executions, sessions, turns, windows
from nomos.actions.growth import Batch, commit
from nomos.actions.turns import Turn
from nomos.domain import shapes
from nomos.domain.approvals import ApprovalState, Verdict
from nomos.domain.events import Entry, Type
from nomos.domain.executions import State
from nomos.domain.messages import OPEN, BlockKind, MessageStatus
from nomos.domain.sessions import Ending
from nomos.domain.snapshots import SessionSnapshot
from nomos.errors import ClaimLost, Conflict
from nomos.store import journal, messages
from nomos.store.executions import ExecutionClaim
from tests.harness.database import Templates
from tests.harness.scene import CHANGE, DESTROY, LEASE, READ, Scene, call, reply, text

WORDS = st.sampled_from(["look", "go ahead", "yes", "no", "stop it", "é😀 \u2028 more"])
PIECES = st.sampled_from(["a", "bé", "😀", "line\n", "\ufffd"])


class Client:
    """What a page knows: a snapshot, and every event since, as ``static/js/state.js`` takes it."""

    def __init__(self, snapshot: dict[str, Any]) -> None:
        self.seq = snapshot["seq"]
        self.session = snapshot["session"]
        self.messages = {message["id"]: message for message in snapshot["messages"]}
        self.executions = {execution["id"]: execution for execution in snapshot["executions"]}
        self.approvals = {approval["id"]: approval for approval in snapshot["approvals"]}
        self.plan = snapshot["plan"]
        self.window = snapshot["window"]
        self.outputs = {output["execution_id"]: dict(output) for output in snapshot["outputs"]}

    def apply(self, entry: Entry) -> None:
        """Take one event."""
        assert entry.seq == self.seq + 1, "a gap"
        self.seq = entry.seq
        data = entry.data
        match entry.type:
            case Type.SESSION_CHANGED:
                self.session = data
            case Type.MESSAGE_CHANGED:
                self.messages[data["id"]] = data
            case Type.BLOCK_CHANGED:
                message = self.messages[data["message_id"]]
                others = [block for block in message["blocks"] if block["id"] != data["id"]]
                if not data.get("removed"):
                    others.append(data)
                message["blocks"] = sorted(others, key=lambda block: block["position"])
            case Type.MESSAGE_DELTA:
                blocks = self.messages[data["message_id"]]["blocks"]
                (block,) = [block for block in blocks if block["id"] == data["block_id"]]
                assert data["offset"] <= len(block["text"]), "a gap"
                block["text"] += data["text"][len(block["text"]) - data["offset"] :]
            case Type.EXECUTION_CHANGED:
                self.executions[data["id"]] = data
            case Type.EXECUTION_OUTPUT:
                empty = {"execution_id": data["execution_id"], "offset": 0, "end": 0, "text": ""}
                output = self.outputs.setdefault(data["execution_id"], empty)
                assert data["offset"] == output["end"], "a gap"
                output |= {"end": data["end"], "text": output["text"] + data["text"]}
            case Type.APPROVAL_CHANGED:
                self.approvals[data["id"]] = data
            case Type.PLAN_CHANGED:
                self.plan = data
            case Type.WINDOW_CHANGED:
                self.window = data
            case Type.HOST_CHANGED:
                pass

    def view(self) -> dict[str, Any]:
        """All of it, for comparison."""
        # Whether a window is open depends on when one looks: readers watch expires_at. Of output that has come an
        # execution's own entry tells nothing: the pieces do.
        window = None if self.window is None else {**self.window, "open": None}
        grows = {"output_bytes": None, "last_output_at": None}
        return {
            "session": self.session,
            "messages": list(self.messages.values()),
            "executions": {key: {**value, **grows} for key, value in self.executions.items()},
            "approvals": list(self.approvals.values()),
            "plan": self.plan,
            "window": window,
            "outputs": self.outputs,
        }


def shaped(snapshot: SessionSnapshot, scene: Scene) -> dict[str, Any]:
    """The snapshot as a page gets it."""
    return {
        "seq": snapshot.seq,
        "session": shapes.session(snapshot.session),
        "messages": [shapes.message(message) for message in snapshot.messages],
        "executions": [shapes.execution(execution) for execution in snapshot.executions],
        "approvals": [shapes.approval(approval) for approval in snapshot.approvals],
        "plan": None if snapshot.plan is None else shapes.plan(snapshot.plan),
        "window": shapes.window(snapshot.window, scene.clock.now()),
        "outputs": [shapes.output(output) for output in snapshot.outputs],
    }


_TEMPLATES: list[tuple[tempfile.TemporaryDirectory[str], Templates]] = []


def templates() -> Templates:
    """Migrated once for all examples."""
    if not _TEMPLATES:
        folder = tempfile.TemporaryDirectory(prefix="nomos-")
        _TEMPLATES.append((folder, Templates(Path(folder.name))))
    return _TEMPLATES[0][1]


class Machine(RuleBasedStateMachine):
    """Operator, worker and agent, in any order."""

    def __init__(self) -> None:
        super().__init__()
        fast = Path("/dev/shm")
        self.folder = tempfile.TemporaryDirectory(prefix="nomos-", dir=fast if fast.is_dir() else None)
        self.database = templates().sqlite(Path(self.folder.name))
        self.scene = Scene(self.database.open(), self.database.clock).begin()
        self.client = self.fresh()
        self.turn: Turn | None = None
        self.shown: str | None = None
        self.following: ExecutionClaim | None = None

    def teardown(self) -> None:
        self.database.close()
        self.folder.cleanup()

    def fresh(self) -> Client:
        return Client(shaped(self.scene.snapshot(), self.scene))

    # ---------------------------------------------------------------------------------------------- the operator

    @rule(words=WORDS)
    def say(self, words: str) -> None:
        self.scene.say(words)

    @rule(verdict=st.sampled_from(Verdict), first=st.booleans())
    def decide(self, verdict: Verdict, first: bool) -> None:
        if pending := self.scene.pending():
            self.scene.decide(pending[0 if first else -1], verdict)

    @rule(minutes=st.integers(1, 60))
    def extend(self, minutes: int) -> None:
        windows.extend(self.scene.store, self.scene.session_id, minutes, self.scene.clock.moment(), by="ada")

    @rule()
    def revoke(self) -> None:
        windows.revoke(self.scene.store, self.scene.session_id, self.scene.clock.moment())

    @rule(with_executions=st.booleans())
    def stop(self, with_executions: bool) -> None:
        sessions.stop(
            self.scene.store, self.scene.session_id, self.scene.clock.now(), with_executions=with_executions, by="ada"
        )  # fmt: skip

    @rule(title=st.sampled_from(["mine", "yours"]), archived=st.booleans())
    def rename(self, title: str, archived: bool) -> None:
        sessions.change(
            self.scene.store, self.scene.session_id, self.scene.clock.now(), title=title, archived=archived
        )  # fmt: skip

    @rule(seconds=st.sampled_from([0.1, 5.0, LEASE + 1, 1000.0]))
    def pass_time(self, seconds: float) -> None:
        self.scene.clock.advance(seconds)

    # ------------------------------------------------------------------------------------------------- the agent

    @rule(owner=st.sampled_from(["worker-1", "worker-2"]))
    def poll(self, owner: str) -> None:
        found = self.scene.turn(owner)
        if found is None:
            return
        if self.turn is not None:
            with pytest.raises(ClaimLost):
                turns.beat(self.scene.store, self.turn.claim, self.scene.clock.moment(), LEASE)
        if found.resumed:
            step = self.scene.steps.get(found.message.id, 0)
            turns.discard(self.scene.store, found.claim, found.message.id, step, self.scene.clock.now())
        self.turn, self.shown = found, None

    @precondition(lambda self: self.turn is not None)
    @rule(pieces=st.lists(PIECES, min_size=1, max_size=4))
    def stream(self, pieces: list[str]) -> None:
        assert self.turn is not None
        if self.shown is None:
            step = self.scene.steps.get(self.turn.message.id, 0)
            self.shown = turns.open_block(
                self.scene.store, self.turn.claim, self.turn.message.id, BlockKind.TEXT, step, self.scene.clock.now()
            ).id
        commit(self.scene.store, Batch(texts={(self.turn.claim, self.shown): pieces}), self.scene.clock, 10_000)

    @precondition(lambda self: self.turn is not None)
    @rule()
    def fail_an_attempt(self) -> None:
        assert self.turn is not None
        step = self.scene.steps.get(self.turn.message.id, 0)
        turns.note_try(self.scene.store, self.turn.claim, self.turn.message.id, step, 1, self.scene.clock.now())
        self.shown = None

    @precondition(lambda self: self.turn is not None)
    @rule(commands=st.lists(st.sampled_from([READ, CHANGE, DESTROY]), max_size=3), asynchronous=st.booleans())
    def answer(self, commands: list[str], asynchronous: bool) -> None:
        """An answer with words and calls, each call answered with how its command stands."""
        assert self.turn is not None
        scene, turn, now = self.scene, self.turn, self.scene.clock.now()
        step = scene.steps.get(turn.message.id, 0)
        content = reply(text("so be it"), *[call(host="nas", command=command) for command in commands])
        shown = {} if self.shown is None else {0: self.shown}
        blocks = turns.accept(scene.store, turn.claim, turn.message.id, step, content, shown, now, nudge=None)
        scene.steps[turn.message.id] = step + 1
        self.shown = None
        for block, command in zip(blocks, commands, strict=True):
            try:
                execution = executions.request(
                    scene.store, turn.claim, turn.message.id, block.id, scene.clock.moment(), host="nas",
                    command=command, reason="because", asynchronous=asynchronous,
                )  # fmt: skip
            except Conflict as stopped:
                turns.answer(scene.store, turn.claim, block.id, stopped.detail, now, is_error=True)
            else:
                scene.answer(turn, block, execution)

    @precondition(lambda self: self.turn is not None)
    @rule()
    def propose(self) -> None:
        assert self.turn is not None
        if self.shown is None:
            self.scene.propose(self.turn, CHANGE, DESTROY)

    @precondition(lambda self: self.turn is not None)
    @rule(
        status=st.sampled_from([MessageStatus.DONE, MessageStatus.FAILED, MessageStatus.STOPPED]),
        ending=st.sampled_from([Ending.TALK, Ending.VERIFIED, Ending.BLOCKED, Ending.FAILED]),
        notice=st.sampled_from([None, "what happened"]),
    )
    def end(self, status: MessageStatus, ending: Ending, notice: str | None) -> None:
        assert self.turn is not None
        self.scene.end(self.turn, status, ending, notice)
        self.turn = self.shown = None

    @precondition(lambda self: self.turn is not None)
    @rule()
    def put_off(self) -> None:
        assert self.turn is not None
        turns.put_off(
            self.scene.store, self.turn.claim, self.turn.message.id, self.scene.clock.moment(), 8.0, "asks again"
        )  # fmt: skip
        self.turn = self.shown = None

    # ------------------------------------------------------------------------------------------------ the worker

    @precondition(lambda self: self.following is None)
    @rule()
    def take(self) -> None:
        found = self.scene.take()
        if found is None:
            return
        claim, execution = found
        now = self.scene.clock.now()
        if execution.state is State.QUEUED:
            if executions.begin(self.scene.store, claim, "boot", self.scene.clock.moment()) is None:
                return
            executions.running(self.scene.store, claim, now)
        self.following = claim

    @precondition(lambda self: self.following is not None)
    @rule(piece=PIECES)
    def print_something(self, piece: str) -> None:
        assert self.following is not None
        raw = piece.encode()
        commit(self.scene.store, Batch(outputs={self.following: [(raw, len(raw))]}), self.scene.clock, 10_000)

    @precondition(lambda self: self.following is not None)
    @rule(state=st.sampled_from([State.SUCCEEDED, State.FAILED, State.UNKNOWN, State.CANCELLED]))
    def finish(self, state: State) -> None:
        assert self.following is not None
        executions.finish(self.scene.store, self.following, state, self.scene.clock.now(), exit_code=1)
        self.following = None

    # ------------------------------------------------------------------------------------------- what must hold

    @invariant()
    def events_make_the_snapshot(self) -> None:
        with self.scene.store.read() as connection:
            entries = journal.after(connection, self.client.seq, 10_000)
        for entry in entries:
            self.client.apply(entry)
        now = self.fresh()
        assert self.client.seq == now.seq
        assert self.client.view() == now.view()

    @invariant()
    def nothing_unlawful_is_stored(self) -> None:
        snapshot = self.scene.snapshot()
        assert sum(1 for message in snapshot.messages if message.status in OPEN) <= 1
        asked = [a.execution_id for a in snapshot.approvals if a.state is ApprovalState.PENDING and a.execution_id]
        waiting = [execution.id for execution in snapshot.executions if execution.state is State.WAITING]
        assert sorted(asked) == sorted(waiting)
        ended = [m for m in snapshot.messages if m.blocks and m.blocks[0].code == "execution_ended"]
        told = [execution.id for execution in snapshot.executions for message in ended if execution.id in message.text]
        assert len(told) == len(set(told)) == len(ended)
        for execution in snapshot.executions:
            if execution.id in told:
                assert execution.continued_at is not None
        with self.scene.store.read() as connection:
            answers = messages.all_answers(connection, self.scene.session_id)
        for message in snapshot.messages:
            if message.status not in OPEN:
                calls = [part for part in message.blocks if part.kind is BlockKind.TOOL_CALL]
                assert all(
                    part.result is not None for part in calls if any(a.message_id == message.id for a in answers)
                )


Machine.TestCase.settings = settings(max_examples=12, stateful_step_count=30, deadline=None)
test_any_order_of_actions = Machine.TestCase
