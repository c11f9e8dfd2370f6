"""Ways back: what undoes a step, and whether a snapshot of a Proxmox guest would help. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from nomos.domain.executions import Execution, State
from nomos.domain.plans import Plan

_STARTED_AND_OVER = frozenset({State.SUCCEEDED, State.FAILED, State.TIMED_OUT, State.CANCELLED, State.UNKNOWN})
# An undoing command that never ran or did not work leaves the way back open.
_GAVE_UP = frozenset({State.DENIED, State.WITHDRAWN, State.UNREACHABLE, State.FAILED, State.TIMED_OUT, State.CANCELLED})

_COMMAND = re.compile(r"(?:/[a-z/]+/)?[a-z0-9_][a-z0-9_.+-]*(?: .*[^.!?:;,\s])?")
_PROSE = re.compile(
    r"(?:not|no|none|nothing|cannot|can|it|this|the|there|run|use|just|simply|undo|restore|n/a)\b", re.IGNORECASE
)
_GUEST = re.compile(
    r"(?:sudo )?(?P<tool>pct|qm) (?P<verb>guest exec|[a-z-]+) (?P<vmid>[1-9][0-9]{2,8})(?:\s.*)?", re.DOTALL
)

# Of the verbs that change a guest, those whose effect a snapshot taken before can take back.
_HELPED = frozenset(
    {"exec", "fsck", "guest exec", "monitor", "push", "reboot", "reset", "resize", "sendkey", "set", "shutdown", "stop"}
)
# Where one is of no use, or stands in the way, the card says so.
_NOT_HELPED = {
    "destroy": "A snapshot does not help here: it is removed together with the guest. `vzdump {vmid}` makes a backup "
    "that stays.",
    "rollback": "No snapshot is taken before a rollback: on ZFS a newer snapshot stands in its way.",
    "template": "No snapshot is taken: a guest that has one cannot be made a template.",
}


class Snapshots(StrEnum):
    """NOMOS_SNAPSHOTS: whether Nomos takes a snapshot before it changes a guest."""

    OFFER = "offer"  # where the operator chooses it on the card
    ALWAYS = "always"  # wherever the storage can
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Guest:
    """A Proxmox guest: ``tool`` is ``pct`` or ``qm``."""

    tool: str
    vmid: int

    def snapshot(self, name: str) -> str:
        """The command that takes a snapshot of this name."""
        return f"{self.tool} snapshot {self.vmid} {name}"

    def rollback(self, name: str) -> str:
        """The command that brings the guest back to it. What changed since is lost."""
        return f"{self.tool} rollback {self.vmid} {name}"


def snapshot_name(execution_id: str) -> str:
    """The name of the snapshot that is taken before an execution; Proxmox wants a letter first."""
    return f"nomos-{execution_id.replace('-', '')[:8]}"


def helped_guest(command: str) -> Guest | None:
    """The guest that this command changes and that a snapshot could bring back."""
    match = _GUEST.fullmatch(command.strip())
    if match is None or match["verb"] not in _HELPED:
        return None
    return Guest(match["tool"], int(match["vmid"]))


def no_snapshot_words(command: str) -> str | None:
    """Why no snapshot can help a command that one might be expected of, in words for the card."""
    match = _GUEST.fullmatch(command.strip())
    words = None if match is None else _NOT_HELPED.get(match["verb"])
    return None if match is None or words is None else words.format(vmid=match["vmid"])


def undo_command(text: str | None) -> str | None:
    """What a plan says undoes a step, if that is a command: plans may also say it in words."""
    text = (text or "").strip().strip("`").strip()
    if not text or "\n" in text or _PROSE.match(text) or not _COMMAND.fullmatch(text):
        return None
    return text


def step_undo(plan: Plan | None, number: int | None) -> str | None:
    """The command that undoes this step of the plan. Of one that the operator edited the agent's may not be right."""
    if plan is None or number is None or plan.steps[number].asked is not None:
        return None
    return undo_command(plan.steps[number].undo)


def undo_of(execution: Execution) -> str | None:
    """The command that undoes this execution, while that can be honoured."""
    return execution.undo if execution.state in _STARTED_AND_OVER and execution.started_at is not None else None


def is_open(undoing: State) -> bool:
    """Whether an execution in this state, that undoes another, still does or did: then it is not proposed again."""
    return undoing not in _GAVE_UP


def cannot_snapshot(output: str) -> str | None:
    """The line in which Proxmox says that the guest's storage has no snapshots."""
    return next((line.strip() for line in output.splitlines() if "snapshot feature is not available" in line), None)
