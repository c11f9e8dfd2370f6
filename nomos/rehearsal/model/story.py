"""What the stories share: one story's view of the history, and the ways in which the stand-in model speaks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nomos.rehearsal.model.history import Call, History, Outcome
from nomos.rehearsal.model.protocol import Say, call_block, text_block

HOST = "practice"


@dataclass(frozen=True, slots=True)
class Guest:
    """A container as ``pct list`` shows it."""

    vmid: int
    status: str
    name: str


@dataclass(frozen=True, slots=True)
class Story:
    """One request of the operator and all that came of it. ``start`` is the place of that request."""

    history: History
    tools: Mapping[str, Mapping[str, Any]]
    start: int
    request: str

    def last(self, name: str, *, after: int | None = None, **arguments: Any) -> Call | None:
        """Return the last such call within this story."""
        return self.history.last(name, after=self.start if after is None else after, **arguments)

    def tries(self, name: str, *, after: int | None = None, **arguments: Any) -> int:
        """Return how often this was called within this story."""
        return len(self.history.calls(name, after=self.start if after is None else after, **arguments))

    def outcome(self, call: Call) -> Outcome:
        """Return how a call stands."""
        return self.history.outcome(call)

    def texts(self, *, until: int | None = None) -> list[str]:
        """Return the operator's words within this story, notes on decisions included, up to a place."""
        notes = [*self.history.told("plan_decided"), *self.history.told("approval_decided")]
        said = [(words.place, words.text) for words in self.history.said(by_operator=True)]
        said += [(event.place, str(event.content.get("note") or "")) for event in notes]
        return [text for place, text in sorted(said) if self.start <= place and (until is None or place <= until)]

    def call(self, words: str, *calls: tuple[str, Mapping[str, Any]]) -> Say:
        """Say something and call tools."""
        blocks = [text_block(words)] if words else []
        blocks += [call_block(name, self._fitted(name, arguments)) for name, arguments in calls]
        return Say(blocks, "tool_use")

    def run(self, words: str, command: str, reason: str) -> Say:
        """Say something and run a command on the practice host."""
        return self.call(words, ("run", {"host": HOST, "command": command, "reason": reason}))

    def conclude(self, words: str, *, verified: bool, evidence: str) -> Say:
        """Report to the operator and end the story."""
        outcome = "verified" if verified else "blocked"
        return self.call(words, ("conclude", {"outcome": outcome, "evidence": evidence}))

    def blocked(self, words: str) -> Say:
        """Say what is in the way and end the story."""
        return self.conclude(words, verified=False, evidence=words)

    def _fitted(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        # The stand-in must not know how Nomos writes its tools: what a schema leaves out is left out, what it
        # types otherwise is sent in that type.
        properties = self.tools.get(name, {}).get("properties")
        if not properties:
            return dict(arguments)
        return {key: _typed(value, properties[key]) for key, value in arguments.items() if key in properties}


def say(words: str) -> Say:
    """Say something and end the turn."""
    return Say([text_block(words)], "end_turn")


def guests(listing: str) -> list[Guest]:
    """Return the containers in the output of ``pct list``."""
    found = re.findall(r"^(\d+)[ \t]+(\w+)[ \t]+(?:.*?[ \t])??(\S+)[ \t]*$", listing, re.MULTILINE)
    return [Guest(int(vmid), status, name) for vmid, status, name in found]


def waiting(outcome: Outcome, what: str) -> Say:
    """End the turn while a call is open."""
    if outcome.state == "waiting":
        return say(f"This step, {what}, waits for your approval. I go on as soon as you have decided.")
    return say(f"I am waiting for this step, {what}. I go on by myself when it ends; you need not do anything.")


def denied(outcome: Outcome, what: str) -> Say:
    """End the turn after the operator said no."""
    note = f" You wrote: “{outcome.note}”." if outcome.note else ""
    return say(f"Understood: {what} does not happen.{note} Nothing was changed by it. Tell me what you want instead.")


def _typed(value: Any, schema: Mapping[str, Any]) -> Any:
    kinds = [part.get("type") for part in (schema, *schema.get("anyOf", ()))]
    if "boolean" in kinds:
        return bool(value)
    if "integer" in kinds:
        return int(value)
    if "string" in kinds:
        return str(value)
    return value
