"""Answers a tool call: stores the execution it asks for, waits a short while for its end, or answers from the store."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from nomos.actions import executions as execution_actions
from nomos.actions import plans as plan_actions
from nomos.actions import turns
from nomos.agent.heart import Heart
from nomos.agent.tools import (
    CommandTool,
    Conclude,
    GetExecutionStatus,
    ListHosts,
    ProposePlan,
    ReadOutput,
    Tool,
    parse,
)
from nomos.clock import Clock
from nomos.domain import telling
from nomos.domain.executions import ENDED, UNDER_WAY, State
from nomos.domain.messages import Block
from nomos.domain.undo import Snapshots
from nomos.errors import Conflict, InvalidInput, NotFound
from nomos.store import executions, hosts, output
from nomos.store.engine import Store
from nomos.store.hints import Wakeup
from nomos.store.sessions import Claim

CONCLUDED = "concluded"  # the result of a conclusion that was accepted; it ends the turn
STATUS_CHARACTERS = 4000  # of output, in the answer of get_execution_status


@dataclass(frozen=True, slots=True)
class Calls:
    """Answers calls of one turn.

    ``sync_seconds``: how long a turn waits for a command. ``snapshots``: see the setting.
    """

    store: Store
    clock: Clock
    wakeup: Wakeup
    sync_seconds: float
    snapshots: Snapshots

    def answer(self, claim: Claim, heart: Heart, block: Block) -> None:
        """Answer one call and store its result.

        Does nothing more once the turn has to end. Asking again after a crash starts nothing twice.
        :raises ClaimLost: another worker has the turn.
        """
        try:
            call = parse(block.name or "", block.input or {})
            self._answer(claim, heart, block, call)
        except (InvalidInput, NotFound, Conflict) as error:
            turns.answer(self.store, claim, block.id, error.detail, self.clock.now(), is_error=True)

    def _answer(self, claim: Claim, heart: Heart, block: Block, call: Tool) -> None:
        match call:
            case CommandTool():
                self._run(claim, heart, block, call)
            case ProposePlan():
                drafts = [plan_actions.Draft(s.host, s.command, s.why, s.undo, s.parallel) for s in call.steps]
                plan_actions.propose(
                    self.store, claim, block.message_id, block.id, self.clock.now(), goal=call.goal,
                    verify=call.verify, drafts=drafts, snapshots=self.snapshots,
                )  # fmt: skip
            case Conclude():
                self._conclude(claim, block)
            case ListHosts():
                self._say(claim, block, self._hosts())
            case GetExecutionStatus():
                self._say(claim, block, self._status(claim, call.execution_id))
            case ReadOutput():
                self._say(claim, block, self._output(claim, call))
            case _:
                raise InvalidInput(f"There is nothing behind the tool {block.name}. Nothing was run.")

    def _say(self, claim: Claim, block: Block, result: str) -> None:
        turns.answer(self.store, claim, block.id, result.replace("\x00", "\ufffd"), self.clock.now())

    def _run(self, claim: Claim, heart: Heart, block: Block, call: CommandTool) -> None:
        execution = execution_actions.request(
            self.store, claim, block.message_id, block.id, self.clock.moment(), host=call.host,
            command=call.command_text(), reason=call.why, asynchronous=call.asynchronous,
            snapshots=self.snapshots,
        )  # fmt: skip
        if execution.state is not State.WAITING and not execution.asynchronous:
            self._wait(execution.id, heart)
            heart.check()
            if heart.stopped:
                return
        turns.answer_with(self.store, claim, block.id, execution.id, self.clock.now(), must=True)

    def _wait(self, execution_id: str, heart: Heart) -> None:
        """Wait until the execution has ended, the turn has to end, or the time for it is up."""
        deadline = time.monotonic() + self.sync_seconds
        while not heart.out:
            seen = self.wakeup.count
            with self.store.read() as connection:
                execution = executions.get(connection, execution_id)
            if execution.state in ENDED or execution.question is not None:
                return
            left = deadline - time.monotonic()
            if left <= 0:
                return
            self.wakeup.wait(seen, min(left, 0.5))

    def _conclude(self, claim: Claim, block: Block) -> None:
        with self.store.read() as connection:
            going = [e for e in executions.of_session(connection, claim.session_id) if e.state in UNDER_WAY]
        if going:
            names = ", ".join(e.id for e in going)
            raise InvalidInput(
                f"Not concluded: {names} still runs. End your turn; you are invoked again with the result."
            )
        self._say(claim, block, CONCLUDED)

    def _hosts(self) -> str:
        with self.store.read() as connection:
            known = hosts.every(connection)
        if not known:
            return "There are no hosts yet. The operator adds one on the Hosts page or with `nomos host add`."
        return "\n".join(
            json.dumps({"name": h.name, "state": h.state, "system": h.system, "user": h.user}, ensure_ascii=False)
            for h in known
        )

    def _status(self, claim: Claim, execution_id: str) -> str:
        with self.store.read() as connection:
            execution = executions.get(connection, execution_id)
            if execution.session_id != claim.session_id:
                raise NotFound("There is no such execution in this session.")
            tail = output.tail(connection, execution, STATUS_CHARACTERS)
        return f"{telling.outcome(execution)}\ncommand: {execution.command}\n\n{tail.text}".rstrip()

    def _output(self, claim: Claim, call: ReadOutput) -> str:
        with self.store.read() as connection:
            execution = executions.get(connection, call.execution_id)
            if execution.session_id != claim.session_id:
                raise NotFound("There is no such execution in this session.")
            offset, raw = output.read(connection, call.execution_id, call.offset, call.limit)
        head = f"bytes {offset} to {offset + len(raw)} of {execution.output_bytes}"
        if offset > call.offset:
            head += f" (bytes {call.offset} to {offset} are not stored)"
        return f"{head}\n\n{raw.decode('utf-8', 'replace')}"
