"""What must hold once all is at rest, whatever happened before: read from the database and the host's own traces."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import Connection, text

from nomos.domain.executions import CONTINUES, ENDED, Execution, State
from nomos.store import executions, output
from nomos.store.engine import Store
from tests.chaos.script import Files, exit_code

RAN = frozenset({State.SUCCEEDED, State.FAILED, State.TIMED_OUT})
NEVER = frozenset({State.WAITING, State.QUEUED, State.UNREACHABLE, State.DENIED, State.WITHDRAWN})


@dataclass(slots=True)
class Found:
    """What was counted, and every fault in words; none must be left."""

    executions: int = 0
    faults: list[str] = field(default_factory=list)

    def note(self, holds: object, fault: str) -> None:
        """Note a fault where something does not hold."""
        if not holds:
            self.faults.append(fault)


def check(store: Store, files: Files) -> Found:
    """Look at everything."""
    found = Found()
    with store.read() as c:
        every = executions.search(c, limit=1_000_000)
        found.executions = len(every)
        _started_once(found, every, files)
        _at_rest(found, c, every)
        _told_once(found, c, every)
        _true(found, c, every, files)
        _gapless(found, c)
        if not store.shared:
            found.note(c.execute(text("PRAGMA integrity_check")).scalar_one() == "ok", "the database is damaged")
    return found


def _started_once(found: Found, every: tuple[Execution, ...], files: Files) -> None:
    starts = Counter(files.started)
    known = {execution.id for execution in every}
    for id_, count in starts.items():
        found.note(count == 1, f"{id_} was started {count} times")
        found.note(id_ in known, f"{id_} was started and is not known")
    for execution in every:
        began = starts[execution.id]
        found.note(began or execution.state not in RAN, f"{execution.id} is {execution.state} and never began")
        found.note(not began or execution.state not in NEVER, f"{execution.id} is {execution.state} and began")


def _at_rest(found: Found, c: Connection, every: tuple[Execution, ...]) -> None:
    for execution in every:
        found.note(execution.state in ENDED, f"{execution.id} is stuck in {execution.state}: {execution.detail}")
    stuck = {
        "a turn is stuck": "SELECT id FROM messages WHERE status IN ('thinking', 'working')",
        "a session is due and nobody looks": "SELECT id FROM sessions WHERE due > handled",
        "a session's claim is held": "SELECT id FROM sessions WHERE claim_owner IS NOT NULL",
        "an execution's claim is held": "SELECT id FROM executions WHERE claim_owner IS NOT NULL",
        "a call has no result": "SELECT id FROM blocks WHERE kind = 'tool_call' AND result IS NULL",
        "a message is blank": "SELECT id FROM messages m WHERE NOT EXISTS"
        " (SELECT 1 FROM blocks b WHERE b.message_id = m.id AND (b.kind = 'tool_call' OR trim(b.text) <> ''))",
    }
    for words, question in stuck.items():
        for id_ in c.execute(text(question)).scalars():
            found.note(False, f"{words}: {id_}")


def _told_once(found: Found, c: Connection, every: tuple[Execution, ...]) -> None:
    told: Counter[str] = Counter()
    events = "SELECT b.text FROM blocks b JOIN messages m ON m.id = b.message_id WHERE b.code = 'execution_ended'"
    for words in c.execute(text(events)).scalars():
        told[json.loads(words.split(": ", 1)[1])["execution"]] += 1
    results = c.execute(text("SELECT execution_id, result FROM blocks WHERE execution_id IS NOT NULL")).all()
    ends = {str(state) for state in CONTINUES}
    for row in results:
        words = (row.result or "").split()
        if words[:2] == ["execution", row.execution_id] and words[2].strip(":.") in ends:
            told[row.execution_id] += 1
    for execution in every:
        wanted = {0, 1} if execution.state is State.CANCELLED else {1}
        if execution.state in CONTINUES:
            count = told[execution.id]
            found.note(count in wanted, f"the agent was told {count} times of {execution.id}, {execution.state}")
            found.note(bool(count) == (execution.continued_at is not None), f"{execution.id}: continued_at is wrong")


def _true(found: Found, c: Connection, every: tuple[Execution, ...], files: Files) -> None:
    for execution in every:
        if execution.state not in RAN:
            continue
        kept, said = output.whole(c, execution), files.said(execution.id)
        found.note(kept == said, f"{execution.id}: {len(kept)} bytes of output stored, {len(said)} written")
        wanted = exit_code(execution.command)
        found.note(execution.exit_code == wanted, f"{execution.id}: exit {execution.exit_code}, in truth {wanted}")


def _gapless(found: Found, c: Connection) -> None:
    head, floor = c.execute(text("SELECT seq, floor FROM journal_head")).one()
    count, low, high = c.execute(
        text("SELECT count(*), min(seq), max(seq) FROM journal WHERE seq > :f"), {"f": floor}
    ).one()
    found.note(count == head - floor and low == floor + 1 and high == head, f"the journal has gaps: {count} to {head}")
