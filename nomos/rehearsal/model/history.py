"""Reading a request's messages back as a story: who said what, which calls were made, how they came out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EVENT = "Nomos event, not the operator's words: "
_NOT_THE_OPERATOR = "Nomos "  # events, and what Nomos itself tells the agent
_EXECUTION = re.compile(
    r"execution (\S+) "
    r"(waits for approval|running|succeeded|failed|timed_out|cancelled|unknown|denied|withdrawn|unreachable)"
)
_PLAN = re.compile(r"plan (\S+) (waits for approval|approved|denied|withdrawn)")
_VERDICTS = {"approve": "approved", "deny": "denied"}


@dataclass(frozen=True, slots=True)
class Words:
    """Something said, by the operator or by the agent."""

    place: int
    by_operator: bool
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """An event that Nomos told."""

    place: int
    content: Mapping[str, Any]

    def is_about(self, kind: str, field: str, value: str) -> bool:
        """Whether it is an event of this kind about this thing."""
        return self.content.get("event") == kind and self.content.get(field) == value


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call, with the result that Nomos gave at once."""

    place: int
    name: str
    arguments: Mapping[str, Any]
    result: str
    is_error: bool

    @property
    def vmid(self) -> int | None:
        """The container it is about, as far as its arguments say."""
        number = str(self.arguments.get("vmid", ""))
        return int(number) if number.isdecimal() else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call stands.

    ``state`` is an execution's, ``waiting`` for approval, or ``error`` where nothing ran. ``note``: the operator's
    own words on a decision. ``detail``: what Nomos itself said of the end.
    """

    state: str
    output: str
    note: str = ""
    detail: str = ""

    @property
    def ok(self) -> bool:
        """Whether it succeeded."""
        return self.state == "succeeded"

    @property
    def open(self) -> bool:
        """Whether its end is still to come."""
        return self.state in {"waiting", "running"}

    @property
    def last_line(self) -> str:
        """What it said last, in one line."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        if lines and lines != ["(no output)"]:
            return lines[-1].rstrip(".")
        return (self.detail or f"it printed nothing ({self.state})").rstrip(".")


Entry = Words | Told | Call


class History:
    """All that one request tells, in order."""

    def __init__(self, messages: Sequence[Mapping[str, Any]]) -> None:
        results = dict(_results(messages))
        self.entries: tuple[Entry, ...] = tuple(_entries(messages, results))

    def calls(self, name: str, *, after: int = -1, **arguments: Any) -> list[Call]:
        """Return the calls of a tool from a place on, those with these arguments."""
        return [
            entry
            for entry in self.entries
            if isinstance(entry, Call)
            and entry.place > after
            and entry.name == name
            and all(str(entry.arguments.get(key)) == str(value) for key, value in arguments.items())
        ]

    def last(self, name: str, *, after: int = -1, **arguments: Any) -> Call | None:
        """Return the last of ``calls``."""
        found = self.calls(name, after=after, **arguments)
        return found[-1] if found else None

    def said(self, *, by_operator: bool, after: int = -1) -> list[Words]:
        """Return what one side said from a place on."""
        return [
            entry
            for entry in self.entries
            if isinstance(entry, Words) and entry.by_operator is by_operator and entry.place > after
        ]

    def told(self, kind: str, *, after: int = -1) -> list[Told]:
        """Return the events of one kind from a place on."""
        return [
            entry
            for entry in self.entries
            if isinstance(entry, Told) and entry.place > after and entry.content.get("event") == kind
        ]

    def outcome(self, call: Call) -> Outcome:
        """Return how a call stands now: what its result said, and what events told since."""
        head, _, rest = call.result.partition("\n")
        found = _EXECUTION.match(head)
        if found is None:
            if call.is_error:
                return Outcome("unknown" if "not known" in call.result else "error", call.result)
            return Outcome("succeeded", call.result)
        execution, state = found.groups()
        detail = head[found.end() :].lstrip(":. ")
        outcome = Outcome("waiting" if state == "waits for approval" else state, rest.strip("\n"), detail=detail)
        for event in self.told("approval_decided", after=call.place):
            if event.is_about("approval_decided", "execution", execution):
                denied = event.content.get("verdict") == "deny"
                outcome = Outcome("denied" if denied else "running", "", str(event.content.get("note") or ""))
        for event in self.told("execution_ended", after=call.place):
            if event.is_about("execution_ended", "execution", execution):
                outcome = _ended(event.content)
        return outcome

    def plan_outcome(self, plan: Call) -> Outcome:
        """Return how a proposed plan stands: ``waiting``, ``approved``, ``denied``, ``withdrawn`` or ``error``."""
        found = _PLAN.match(plan.result)
        if plan.is_error or found is None:
            return Outcome("error", plan.result)
        name, state = found.groups()
        outcome = Outcome("waiting" if state == "waits for approval" else state, "")
        for event in self.told("plan_decided", after=plan.place):
            if event.content.get("plan") in {name, None}:
                state = _VERDICTS.get(str(event.content.get("verdict")), "withdrawn")
                outcome = Outcome(state, "", str(event.content.get("note") or ""))
        return outcome


def _ended(event: Mapping[str, Any]) -> Outcome:
    detail = event.get("detail") or event.get("meaning") or f"exit {event.get('exit_code')}"
    return Outcome(str(event.get("state")), str(event.get("output") or ""), detail=str(detail))


def _entries(messages: Sequence[Mapping[str, Any]], results: Mapping[str, Mapping[str, Any]]) -> Iterator[Entry]:
    place = 0
    for message in messages:
        for block in _blocks(message):
            place += 1
            if block["type"] == "text":
                yield _words(place, message["role"] == "user", block["text"])
            elif block["type"] == "tool_use":
                result = results.get(block["id"], {})
                error = bool(result.get("is_error"))
                yield Call(place, block["name"], block["input"], _text(result.get("content", "")), error)


def _words(place: int, by_operator: bool, text: str) -> Words | Told:
    if by_operator and text.startswith(_NOT_THE_OPERATOR):
        try:
            content = json.loads(text.removeprefix(EVENT))
        except ValueError:
            content = {}
        return Told(place, content if isinstance(content, dict) else {})
    return Words(place, by_operator, text)


def _results(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for message in messages:
        for block in _blocks(message):
            if block["type"] == "tool_result":
                yield block["tool_use_id"], block


def _blocks(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")
