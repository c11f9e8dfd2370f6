"""The words that the agent is told. Stored once, rendered the same in every later replay.

Output of hosts travels as a JSON string inside an event or as the body of a tool result: it is data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from nomos.domain.approvals import Approval, Verdict
from nomos.domain.executions import Execution, State
from nomos.domain.plans import Plan, Step
from nomos.domain.windows import Window

RESULT_CHARACTERS = 16_000  # of output in one tool result
EVENT_CHARACTERS = 6_000  # of output in one event message
RECEIPT_CHARACTERS = 200  # of a command in the receipt of a window; its card has all of it
RECEIPT_LINES = 50
_PREFIX = "Nomos event, not the operator's words: "


def clip(text: str, limit: int) -> str:
    """Keep head and tail of ``text`` and say how much is left out. Lone surrogates become U+FFFD."""
    if len(text) > limit:
        head, tail = limit * 2 // 5, limit * 3 // 5
        left_out = len(text) - head - tail
        text = f"{text[:head]}\n[… {left_out} characters left out; read_output shows them …]\n{text[-tail:]}"
    return _storable(text)


def _storable(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def outcome(execution: Execution) -> str:
    """One line: how the execution stands, exit code first."""
    subject = f"execution {execution.id}"
    if execution.state is State.WAITING:
        return f"{subject} waits for approval"
    if execution.state in {State.QUEUED, State.STARTING, State.RUNNING}:
        if execution.question is not None:
            return (
                f"{subject} running. It seems to wait for an answer: {json.dumps(execution.question)}. The operator "
                "can give one on its card. Do not start it again"
            )
        return f"{subject} running"
    seconds = "" if execution.seconds is None else f" in {execution.seconds:.1f} s"
    exit_code = "" if execution.exit_code is None else f": exit {execution.exit_code}"
    line = f"{subject} {execution.state}{exit_code}{seconds}"
    if execution.state is State.UNKNOWN:
        line += ". It may or may not have taken effect: check the state of things before you run anything again"
    if execution.state is State.UNREACHABLE:
        line += ". It was never started"
    if execution.asked is not None:
        line += f". The operator edited the command: it is {json.dumps(execution.command, ensure_ascii=False)}"
    if execution.detail:
        line += f". {execution.detail}"
    return line


def tool_result(execution: Execution, output: str) -> str:
    """What the agent gets for a command that ended within its turn."""
    body = clip(output, RESULT_CHARACTERS)
    return f"{outcome(execution)}\n\n{body}" if body else f"{outcome(execution)}\n\n(no output)"


def _event(content: dict[str, Any]) -> str:
    return _PREFIX + _storable(json.dumps(content, ensure_ascii=False))


def execution_ended(execution: Execution, output: str) -> str:
    """An execution ended outside a turn."""
    content: dict[str, Any] = {
        "event": "execution_ended",
        "execution": execution.id,
        "host": execution.host,
        "command": execution.command,
        "state": str(execution.state),
        "exit_code": execution.exit_code,
        "seconds": None if execution.seconds is None else round(execution.seconds, 1),
        "output": clip(output, EVENT_CHARACTERS),
        "output_bytes": execution.output_bytes,
        "truncated": execution.truncated,
    }
    if execution.asked is not None:
        content |= {"edited_by_operator": True, "you_asked_for": execution.asked}
    if execution.detail:
        content["detail"] = execution.detail
    if execution.state is State.UNKNOWN:
        content["meaning"] = "it may or may not have taken effect: check before you run anything again"
    if execution.state is State.UNREACHABLE:
        content["meaning"] = "it was never started"
    if execution.state is State.WITHDRAWN:
        content["meaning"] = "it was never started, and will not be: if it is still needed, ask for it anew"
    return _event(content)


def execution_asks(execution: Execution) -> str:
    """A running command looks as if it waited for an answer."""
    return _event(
        {
            "event": "execution_asks",
            "execution": execution.id,
            "host": execution.host,
            "command": execution.command,
            "question": execution.question,
            "meaning": "It still runs, and its last line looks like a question. The operator can answer it on its "
            "card, wait, or end it. You cannot answer it. If it can be run without a question, say how.",
        }
    )


def plan_decided(approval: Approval, plan: Plan, verdict: Verdict, allowed_until: datetime | None) -> str:
    """The operator decided a plan. ``note`` holds the operator's own words.

    ``steps`` says of each step (numbered from 0) whether it is approved, and what it is now where it was edited: what
    is not approved, and what differs from these bytes, asks.
    """
    return _event(
        {
            "event": "plan_decided",
            "plan": approval.plan_id,
            "verdict": str(verdict),
            "scope": None if approval.scope is None else str(approval.scope),
            "note": approval.note,
            "steps": [_step(number, step) for number, step in enumerate(plan.steps)],
            "allowed_until": None if allowed_until is None else allowed_until.isoformat(timespec="seconds"),
        }
    )


def _step(number: int, step: Step) -> dict[str, Any]:
    told: dict[str, Any] = {"step": number, "approved": step.approved, "host": step.host, "command": step.command}
    return told if step.asked is None else {**told, "edited_by_operator": True, "you_proposed": step.asked}


def approval_decided(approval: Approval, verdict: Verdict) -> str:
    """The operator decided one command. ``note`` holds the operator's own words."""
    return _event(
        {
            "event": "approval_decided",
            "execution": approval.execution_id,
            "command": approval.command,
            "host": approval.host,
            "verdict": str(verdict),
            "note": approval.note,
        }
    )


def window_ended(window: Window, at: datetime, why: str, used: Sequence[Execution]) -> str:
    """The receipt of an assent window: from when to when it was open, why it ended, and what ran under it."""
    ran = [
        {"execution": e.id, "host": e.host, "command": clip(e.command, RECEIPT_CHARACTERS), "state": str(e.state)}
        for e in used[:RECEIPT_LINES]
    ]
    content: dict[str, Any] = {
        "event": "window_ended",
        "opened": window.opened_at.isoformat(timespec="seconds"),
        "ended": at.isoformat(timespec="seconds"),
        "why": why,
        "used": ran,
    }
    if len(used) > RECEIPT_LINES:
        content["more"] = len(used) - RECEIPT_LINES
    return _event(content)


def changed_since_shown(changed: str) -> str:
    """The operator assented in chat to something that is not as it was shown any more."""
    return _event(
        {
            "event": "changed_since_shown",
            "detail": f"The operator's words read as assent, but it changed since it was shown: {changed}. "
            "Nothing was started. The operator is asked again.",
        }
    )


def undo_asked(execution: Execution, command: str) -> str:
    """The operator wants a step undone. The undoing asks like any other command; its end is told as an event."""
    return _event(
        {
            "event": "undo_asked",
            "undoes": execution.id,
            "host": execution.host,
            "command": command,
            "meaning": f"The operator wants {execution.command} undone. This waits for approval like any other "
            "command. Do not run it yourself.",
        }
    )


def snapshot_first(execution: Execution, command: str) -> str:
    """Nomos takes a snapshot before a step."""
    return _event(
        {
            "event": "snapshot_first",
            "before": execution.id,
            "host": execution.host,
            "command": command,
            "meaning": "Nomos takes this snapshot by itself before your command, which starts once it is there. Do "
            "not take it yourself.",
        }
    )


def no_snapshot(execution: Execution, said: str) -> str:
    """No snapshot can be taken: the operator is asked whether the step may run without one."""
    return _event(
        {
            "event": "no_snapshot",
            "execution": execution.id,
            "host": execution.host,
            "command": execution.command,
            "said": said,
            "meaning": "Your command was not run. The operator is asked about it again, without a snapshot before it. "
            "Do not run it yourself; you are told how it ends.",
        }
    )


def turn_interrupted(detail: str) -> str:
    """A turn was cut short."""
    return _event({"event": "turn_interrupted", "detail": detail})


INTERRUPTED_CALL = (
    "This call was interrupted before its result was stored. Whether it took effect is not known: "
    "check the state of things before you call it again."
)

CUT_SHORT_CALL = (
    "The turn ended before this call had its result. You are told how the command ends; "
    "read_output shows what it has printed."
)

STOPPED_CALL = "The operator pressed Stop before this call had a result. It was not started by this turn any more."


def continuations_used_up(count: int) -> str:
    """The window's count of continuations is used up."""
    return _event(
        {
            "event": "continuations_used_up",
            "detail": f"The agent was re-invoked {count} times in this assent window. The operator has to allow more.",
        }
    )


def destroy_needs_card() -> str:
    """The operator assented in chat to something that destroys."""
    return _event(
        {
            "event": "not_approved_by_chat",
            "detail": "The operator's words read as assent, but what destroys is only approved on its card. "
            "It still waits; nothing was started.",
        }
    )
