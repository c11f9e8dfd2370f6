"""The one shape that each thing has in pages, answers and events (DESIGN's contract): value in, plain dict out."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from nomos.domain.approvals import Approval
from nomos.domain.executions import Execution, Risk
from nomos.domain.hosts import Host
from nomos.domain.lockout import look
from nomos.domain.messages import Block, BlockKind, Message
from nomos.domain.plans import Plan
from nomos.domain.sessions import Session
from nomos.domain.snapshots import Output
from nomos.domain.undo import Snapshots, helped_guest, no_snapshot_words, undo_of
from nomos.domain.windows import Window


def time(value: datetime | None) -> str | None:
    """ISO 8601 in UTC with milliseconds, ``Z`` at the end."""
    return None if value is None else value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def session(value: Session) -> dict[str, Any]:
    """A session."""
    return {
        "id": value.id,
        "title": value.title,
        "state": value.state,
        "created_at": time(value.created_at),
        "updated_at": time(value.updated_at),
        "archived": value.archived,
    }


def block(value: Block) -> dict[str, Any]:
    """A block; its fields depend on its kind."""
    shape: dict[str, Any] = {
        "id": value.id,
        "message_id": value.message_id,
        "position": value.position,
        "kind": value.kind,
        "step": value.step,
    }
    if value.kind is BlockKind.TOOL_CALL:
        shape |= {
            "name": value.name,
            "input": dict(value.input or {}),
            "execution_id": value.execution_id,
            "result": value.result,
            "is_error": value.is_error,
        }
    else:
        shape["text"] = value.text
        if value.code is not None:
            shape["code"] = value.code
    return shape


def message(value: Message) -> dict[str, Any]:
    """A message with all its blocks."""
    return {
        "id": value.id,
        "session_id": value.session_id,
        "position": value.position,
        "role": value.role,
        "origin": value.origin,
        "status": value.status,
        "client_id": value.client_id,
        "created_at": time(value.created_at),
        "blocks": [block(part) for part in value.blocks],
    }


def execution(value: Execution) -> dict[str, Any]:
    """An execution, without its output."""
    return {
        "id": value.id,
        "session_id": value.session_id,
        "message_id": value.message_id,
        "host": value.host,
        "command": value.command,
        "reason": value.reason,
        "risk": value.risk,
        "risk_why": value.risk_why,
        "state": value.state,
        "exit_code": value.exit_code,
        "queued_at": time(value.queued_at),
        "started_at": time(value.started_at),
        "ended_at": time(value.ended_at),
        "continued_at": time(value.continued_at),
        "output_bytes": value.output_bytes,
        "omitted": None if value.omitted_from is None else {"from": value.omitted_from, "to": value.omitted_to},
        "truncated": value.truncated,
        "last_output_at": time(value.last_output_at),
        "question": value.question,
        "asked": value.asked,
        "approval_id": value.approval_id,
        "plan_id": value.plan_id,
        "digest": value.digest,
        "detail": value.detail,
        "cancel_requested_at": time(value.cancel_requested_at),
        "guard": guard(value.command, value.risk, value.guard_seconds),
        "undo": undo_of(value),
        "undoes": value.undoes,
        "after_id": value.after_id,
    }


def output(value: Output) -> dict[str, Any]:
    """A piece of output: ``offset`` and ``end`` count bytes of the stored output."""
    return {"execution_id": value.execution_id, "offset": value.offset, "end": value.end, "text": value.text}


def approval(value: Approval) -> dict[str, Any]:
    """An approval."""
    return {
        "id": value.id,
        "session_id": value.session_id,
        "state": value.state,
        "kind": value.kind,
        "execution_id": value.execution_id,
        "plan_id": value.plan_id,
        "risk": value.risk,
        "title": value.title,
        "command": value.command,
        "host": value.host,
        "reason": value.reason,
        "digest": value.digest,
        "scopes": list(value.scopes),
        "scope": value.scope,
        "requested_at": time(value.requested_at),
        "decided_at": time(value.decided_at),
        "decided_by": value.decided_by,
        "route": value.route,
        "note": value.note,
        "hosts": [
            {
                "name": host.name,
                "user": host.user,
                "address": host.address,
                "port": host.port,
                "fingerprint": host.fingerprint,
            }
            for host in value.bound
        ],
        "changed": value.changed,
        "used_at": time(value.used_at),
        "risk_why": value.risk_why,
        "drift": None if value.drift is None else asdict(value.drift),
        "snapshot": snapshot(value),
        "guard": guard(value.command, value.risk),
    }


def guard(command: str | None, risk: Risk, seconds: int | None = None) -> dict[str, Any] | None:
    """What a card says of a step that can lock Nomos out; null where that is not to be feared.

    ``revert``: what the host runs by itself unless Nomos signs in again, None where nothing is known; ``seconds`` are
    known once it has been armed. ``warning`` is in words.
    """
    danger = None if command is None or risk is Risk.READ else look(command)
    if danger is None:
        return None
    revert = None if danger.guard is None else danger.guard.revert
    return {"revert": revert, "seconds": seconds, "warning": danger.warning}


def snapshot(value: Approval) -> dict[str, Any] | None:
    """What a card says of a snapshot before a guest is changed; null where nothing is to be said.

    ``choice``: the operator can have one taken, by ``snapshot: true`` in the decision.
    """
    if value.command is None:
        helped, words = value.snapshots is not Snapshots.OFF, None  # of a plan this was found when it was proposed
    else:
        helped, words = helped_guest(value.command) is not None, no_snapshot_words(value.command)
    if helped:
        always = value.snapshots is Snapshots.ALWAYS
        words = "A snapshot of the guest is taken first." if always else "No snapshot is taken first."
    return None if words is None else {"choice": helped and value.snapshots is Snapshots.OFFER, "words": words}


def plan(value: Plan) -> dict[str, Any]:
    """A plan with its steps."""
    return {
        "id": value.id,
        "session_id": value.session_id,
        "message_id": value.message_id,
        "goal": value.goal,
        "verify": value.verify,
        "state": value.state,
        "risk": value.risk,
        "created_at": time(value.created_at),
        "snapshots": value.snapshots,
        "steps": [
            {
                "host": step.host,
                "command": step.command,
                "risk": step.risk,
                "why": step.why,
                "undo": step.undo,
                "parallel": step.parallel,
                "risk_why": step.risk_why,
                "edited": step.asked is not None,
                "asked": step.asked,
                "approved": step.approved,
                "no_snapshot": no_snapshot_words(step.command),
                "guard": guard(step.command, step.risk),
            }
            for step in value.steps
        ],
    }


def window(value: Window | None, now: datetime) -> dict[str, Any] | None:
    """A window, or None where none was ever opened. ``open`` is true at ``now``; readers must watch ``expires_at``."""
    if value is None:
        return None
    return {
        "id": value.id,
        "session_id": value.session_id,
        "open": value.is_open(now),
        "opened_at": time(value.opened_at),
        "expires_at": time(value.expires_at),
        "ended_at": time(value.ended_at),
        "ended_why": value.ended_why,
        "opened_by": value.opened_by,
        "scope": value.scope,
        "covers": {
            "hosts": list(value.hosts),
            "risk": value.risk,
            "plan_id": value.plan_id,
            "until": time(value.cover_until),
        },
        "used": list(value.used),
        "continuations": value.continuations,
    }


def host(value: Host) -> dict[str, Any]:
    """A host of the inventory."""
    return {
        "id": value.id,
        "name": value.name,
        "address": value.address,
        "port": value.port,
        "user": value.user,
        "state": value.state,
        "trusted": value.host_key is not None,
        "fingerprint": value.fingerprint,
        "offered_fingerprint": value.offered_fingerprint,
        "system": value.system,
        "latency_ms": value.latency_ms,
        "detail": value.detail,
        "checked_at": time(value.checked_at),
        "testing": value.testing,
        "practice": value.practice,
    }
