"""A table-top Nomos: just enough of tools, approvals and events to play a story against a model, on the practice host.

It keeps the history as Nomos does and checks every request as the cloud does. Commands run in the practice host's own
stand-ins, so the texts that a story meets are the texts it will meet.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nomos.agent.tools import CommandTool, definitions, parse
from nomos.rehearsal.host.commands import host_commands
from nomos.rehearsal.host.interpreter import interpret
from nomos.rehearsal.host.state import Practice
from nomos.rehearsal.model.lawful import check
from nomos.rehearsal.model.protocol import Say

READ = ("pct list", "pct status", "pct config", "pveversion", "pvesm", "pveam", "uptime", "df", "free")
_EVENT = "Nomos event, not the operator's words: "
_LIMIT = 60  # answers in one story; more is a loop

Ask = Callable[[Mapping[str, Any]], Say]


class Recorder:
    """A console that keeps what is printed and does not wait."""

    stdin = ""

    def __init__(self) -> None:
        self.text = ""

    def read_line(self) -> str | None:
        return None

    def out(self, text: str) -> None:
        self.text += text

    def err(self, text: str) -> None:
        self.text += text

    def work(self, seconds: float) -> None:
        """Take no time."""


@dataclass
class Execution:
    """A command that was issued; ``state`` is None until it has ended."""

    id: str
    command: str
    state: str | None = None
    exit_code: int | None = None
    output: str = ""


@dataclass
class Table:
    """One session."""

    folder: Path
    ask: Ask
    messages: list[dict[str, Any]] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    executions: list[Execution] = field(default_factory=list)
    plans: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    concluded: Mapping[str, Any] | None = None
    allowed: bool = False
    slow: tuple[str, ...] = ("pct create",)
    instead: dict[str, list[tuple[str, int | None, str]]] = field(default_factory=dict)
    answers: int = 0

    def say(self, text: str) -> str:
        """The operator writes. Returns the agent's last words of the turn."""
        self.concluded = None
        self._add("user", {"type": "text", "text": text})
        return self.turn()

    def tell(self, **event: Any) -> str:
        """Nomos tells an event, and a turn follows."""
        self._add("user", {"type": "text", "text": _EVENT + json.dumps(event, ensure_ascii=False)})
        return self.turn()

    def decide(self, verdict: str, note: str = "") -> str:
        """The operator decides the last plan."""
        self.allowed = verdict == "approve"
        return self.tell(event="plan_decided", plan=self.plans[-1][0], verdict=verdict, scope="plan", note=note)

    def land(self) -> str:
        """The last issued command ends outside the turn, which begins the next one."""
        execution = self.executions[-1]
        assert execution.state is None
        self._execute(execution)
        return self.tell(
            event="execution_ended",
            execution=execution.id,
            host="practice",
            command=execution.command,
            state=execution.state,
            exit_code=execution.exit_code,
            seconds=7.1,
            output=execution.output,
        )

    def turn(self) -> str:
        """Ask the model until it ends the turn or concludes. Returns its last words."""
        while True:
            self.answers += 1
            assert self.answers < _LIMIT, "the story does not come to an end"
            request = {
                "model": "nomos-rehearsal",
                "max_tokens": 8192,
                "system": "You help.",
                "messages": self.messages,
                "tools": list(definitions()),
                "stream": True,
            }
            refusal = check(request)
            assert refusal is None, refusal
            answer = self.ask(request)
            self._add("assistant", *answer.blocks)
            calls = [block for block in answer.blocks if block["type"] == "tool_use"]
            assert (answer.stop_reason == "tool_use") is bool(calls)
            for call in calls:
                result = self._call(call["name"], call["input"])
                self._add("user", {"type": "tool_result", "tool_use_id": call["id"], "content": result})
            words = "".join(block["text"] for block in answer.blocks if block["type"] == "text")
            assert words.strip(), "a person reads along: every answer has words"
            if not calls or self.concluded:
                return words

    def script(self, command: str, *outcomes: tuple[str, int | None, str]) -> None:
        """Let a command end so instead of running it: state, exit code, output."""
        self.instead.setdefault(command, []).extend(outcomes)

    def take_id(self, vmid: int) -> None:
        """Somebody else makes a container under this id, behind the agent's back."""
        template = "local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst"
        taken = Execution("", f"pct create {vmid} {template} --hostname other --rootfs local-lvm:4")
        self._execute(taken)
        assert taken.state == "succeeded", taken.output
        self.ran.pop()

    def guest_names(self) -> list[str]:
        """The containers that are there."""
        return [guest["config"]["hostname"] for guest in Practice(self.folder).read()["guests"].values()]

    def _call(self, name: str, given: Mapping[str, Any]) -> str:
        call = parse(name, given)
        if isinstance(call, CommandTool):
            return self._issue(call)
        if name == "conclude":
            self.concluded = given
            return "concluded"
        if name == "propose_plan":
            self.plans.append((str(uuid.uuid4()), given))
            return f"plan {self.plans[-1][0]} waits for approval"
        assert name == "list_hosts"
        return '{"name": "practice", "state": "trusted"}'

    def _issue(self, call: CommandTool) -> str:
        assert call.host == "practice"
        execution = Execution(str(uuid.uuid4()), call.command_text())
        self.executions.append(execution)
        if not execution.command.startswith(READ) and not self.allowed:
            return f"execution {execution.id} waits for approval"
        if execution.command.startswith(self.slow):
            return f"execution {execution.id} running"
        self._execute(execution)
        code = "" if execution.exit_code is None else f": exit {execution.exit_code} in 0.4 s"
        return f"execution {execution.id} {execution.state}{code}\n\n{execution.output or '(no output)'}"

    def _execute(self, execution: Execution) -> None:
        if self.instead.get(execution.command):
            execution.state, execution.exit_code, execution.output = self.instead[execution.command].pop(0)
            return
        self.ran.append(execution.command)
        console = Recorder()
        code = interpret(execution.command, host_commands(Practice(self.folder)), console, where="the practice host")
        execution.state, execution.exit_code = ("succeeded" if code == 0 else "failed"), code
        execution.output = console.text

    def _add(self, role: str, *blocks: Mapping[str, Any]) -> None:
        if not self.messages or self.messages[-1]["role"] != role:
            self.messages.append({"role": role, "content": []})
        self.messages[-1]["content"].extend(dict(block) for block in blocks)
