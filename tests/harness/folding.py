"""A client that knows a session only from a snapshot and the events after it, as the page does (static/js/state.js)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any


class Gap(Exception):
    """A piece is missing between what is known and what was told."""


def seq_of(cursor: str) -> int:
    """The number in a cursor."""
    return int(cursor.rpartition(".")[2])


class Folded:
    """Applies events to a snapshot. ``view()`` can be compared with that of a later snapshot."""

    def __init__(self, snapshot: Any) -> None:
        snapshot = deepcopy(snapshot)
        self.session_id: str = snapshot["session"]["id"]
        self.session = snapshot["session"]
        self.messages = {message["id"]: message for message in snapshot["messages"]}
        self.executions = {execution["id"]: execution for execution in snapshot["executions"]}
        self.approvals = {approval["id"]: approval for approval in snapshot["approvals"]}
        self.plan = snapshot["plan"]
        self.window = snapshot["window"]
        self.outputs = {output["execution_id"]: output for output in snapshot["outputs"]}
        self.cursor: str = snapshot["seq"]
        self.seen: list[str] = []

    def apply(self, id_: str, event: Any) -> None:
        """Apply one event.

        :raises Gap: something before it was not told. :raises AssertionError: it was told before.
        """
        assert seq_of(id_) > seq_of(self.cursor), f"{id_} came after {self.cursor}"
        assert id_ == event["id"]
        self.cursor = id_
        self.seen.append(id_)
        data = event["data"]
        match event["type"]:
            case "nomos.session.changed":
                if data["id"] == self.session_id:
                    self.session = data
            case "nomos.message.changed":
                self.messages[data["id"]] = data
            case "nomos.block.changed":
                self._block(data)
            case "nomos.message.delta":
                self._delta(data)
            case "nomos.execution.changed":
                self.executions[data["id"]] = data
            case "nomos.execution.output":
                self._output(data)
            case "nomos.approval.changed":
                self.approvals[data["id"]] = data
            case "nomos.plan.changed":
                self.plan = data
            case "nomos.window.changed":
                self.window = data

    def _block(self, block: Any) -> None:
        message = self.messages.get(block["message_id"])
        if message is None:
            raise Gap(f"a block of the unknown message {block['message_id']}")
        others = [other for other in message["blocks"] if other["id"] != block["id"]]
        if not block.get("removed"):
            others.append(block)
        message["blocks"] = sorted(others, key=lambda other: int(other["position"]))

    def _delta(self, delta: Any) -> None:
        message = self.messages.get(delta["message_id"])
        block = next((b for b in (message or {"blocks": ()})["blocks"] if b["id"] == delta["block_id"]), None)
        if block is None:
            raise Gap(f"text of the unknown block {delta['block_id']}")
        known = len(block["text"])
        if delta["offset"] > known:
            raise Gap(f"{known} characters are known, and the piece begins at {delta['offset']}")
        block["text"] += delta["text"][known - delta["offset"] :]

    def _output(self, piece: Any) -> None:
        known = self.outputs.get(piece["execution_id"])
        if known is None:
            known = self.outputs[piece["execution_id"]] = {**piece, "end": piece["offset"], "text": ""}
            if piece["offset"]:
                raise Gap(f"output begins at {piece['offset']}")
        if piece["offset"] > known["end"]:
            raise Gap(f"output is known up to {known['end']}, and the piece begins at {piece['offset']}")
        raw = piece["text"].encode()[known["end"] - piece["offset"] :]
        known["text"] += raw.decode()
        known["end"] = max(known["end"], piece["end"])

    def view(self) -> Any:
        """All that a page shows of the session."""
        return _view(
            self.session, self.messages.values(), self.executions.values(), self.approvals.values(), self.plan,
            self.window, self.outputs.values(),
        )  # fmt: skip


def view_of(snapshot: Any) -> Any:
    """The same of a snapshot."""
    return Folded(snapshot).view()


def _view(session: Any, messages: Any, executions: Any, approvals: Any, plan: Any, window: Any, outputs: Any) -> Any:
    return {
        "session": session,
        "messages": sorted(messages, key=lambda message: int(message["position"])),
        "executions": {execution["id"]: execution for execution in executions},
        "approvals": {approval["id"]: approval for approval in approvals},
        "plan": plan,
        "window": window,
        "outputs": {output["execution_id"]: (output["end"], output["text"]) for output in outputs},
    }


def differences(mine: Any, theirs: Any, place: str = "") -> list[str]:
    """Where two views differ, one line each; empty where they are the same."""
    if isinstance(mine, dict) and isinstance(theirs, dict):
        keys = sorted({*mine, *theirs}, key=str)
        return [line for key in keys for line in differences(mine.get(key), theirs.get(key), f"{place}/{key}")]
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) == len(theirs):
        pairs = zip(mine, theirs, strict=True)
        return [line for number, pair in enumerate(pairs) for line in differences(*pair, f"{place}/{number}")]
    return [] if mine == theirs else [f"{place}: folded {mine!r}, snapshot {theirs!r}"]
