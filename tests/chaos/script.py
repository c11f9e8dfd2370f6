"""What the chaos suite asks for: commands that note their own start on their host, and a model without a memory."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.harness import answers
from tests.harness.answers import Answer, Request

WORK = r"""#!/bin/sh
# work NAME LINES PAUSE CODE [GATE]: the log gets a line at the start, and a copy of all that is said is kept.
folder=$(dirname "$0")
printf '%s\n' "$NOMOS_JOB" >>"$folder/log"
{
  n=0
  while [ "$n" -lt "$2" ]; do
    n=$((n + 1))
    printf '%s line %d \303\244\r\n\377' "$1" "$n"
    [ "$3" = 0 ] || sleep "$3"
  done
  while [ -n "${5:-}" ] && [ ! -e "$5" ]; do sleep 0.05; done
  printf 'end of %s' "$1"
} | tee "$folder/$NOMOS_JOB"
exit "$4"
"""

_TASK = re.compile(r"Do this: (\{.*\})")
_RESULT = re.compile(r"execution ([0-9a-f-]{36}) (\w+)")
_EVENT = "Nomos event, not the operator's words: "
_AGAIN = {"unreachable"}  # never started
_UNDER_WAY = {"running", "waits"}


@dataclass(frozen=True, slots=True)
class Files:
    """The folder on the host where commands leave their traces."""

    folder: Path

    def make(self) -> Files:
        """Make it, with the program."""
        self.folder.mkdir(parents=True, exist_ok=True)
        program = self.folder / "work"
        program.write_text(WORK)
        program.chmod(0o755)
        (self.folder / "log").touch()
        return self

    def command(self, name: str, *, lines: int = 3, pause: float = 0, code: int = 0, gate: Path | None = None) -> str:
        """The text of one command."""
        words = [str(self.folder / "work"), name, str(lines), f"{pause:g}", str(code), *([str(gate)] if gate else [])]
        return shlex.join(words)

    @property
    def started(self) -> list[str]:
        """Every execution that was started on the host, as often as it was."""
        return (self.folder / "log").read_text().splitlines()

    def said(self, execution_id: str) -> bytes:
        """All that an execution wrote."""
        return (self.folder / execution_id).read_bytes()


def exit_code(command: str) -> int:
    """The code that a command of ours exits with."""
    return int(shlex.split(command)[4])


def task(host: str, commands: Sequence[str], *, endless: Sequence[str] = (), at_once: int = 1) -> str:
    """The operator's words: run all of these, ``at_once`` calls an answer; nobody waits for the ``endless`` ones."""
    what = {"host": host, "commands": list(commands), "endless": list(endless), "at_once": at_once}
    return f"Do this: {json.dumps(what)}"


def decide(request: Request) -> Answer:
    """The next answer, from the history alone: so that a call that was lost in a crash is answered the same again."""
    asked, proposed, decided, states = _read(request["messages"])
    host, commands = asked["host"], [*asked["commands"], *asked["endless"]]
    if not proposed:
        steps = [{"host": host, "command": each, "why": "it was asked for", "parallel": True} for each in commands]
        plan = {"goal": "what was asked for", "steps": steps, "verify": "by their exit codes"}
        return answers.calls(("propose_plan", plan))
    if not decided:
        return answers.text("Shall I?")
    due = [command for command in commands if states.get(command) in {None, *_AGAIN}]
    if due:
        runs = [("run", {"host": host, "command": each, "reason": "the plan"}) for each in due[: asked["at_once"]]]
        return answers.calls(*runs, words=f"{len(due)} to go.")
    if any(states[command] in _UNDER_WAY for command in asked["commands"]):
        return answers.text("It runs. I wait for its end.")
    return answers.calls(("conclude", {"outcome": "verified", "evidence": "all have ended"}), words="All have ended.")


def _read(messages: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], bool, bool, dict[str, str]]:
    """What was asked for, whether the plan was proposed and decided, and how each command stands."""
    asked: dict[str, Any] = {}
    proposed = decided = False
    states: dict[str, str] = {}
    calls: dict[str, str] = {}
    for message in messages:
        for part in message["content"]:
            if part["type"] == "tool_use":
                proposed = proposed or part["name"] == "propose_plan"
                calls[part["id"]] = part["input"].get("command", "")
            elif part["type"] == "tool_result":
                found = _RESULT.match(part["content"][0]["text"])
                if found and calls[part["tool_use_id"]]:
                    states[calls[part["tool_use_id"]]] = found[2]
            elif part["text"].startswith(_EVENT):
                event = json.loads(part["text"].removeprefix(_EVENT))
                decided = decided or event["event"] == "plan_decided"
                if event["event"] == "execution_ended":
                    states[event["command"]] = event["state"]
            elif found := _TASK.search(part["text"]):
                asked = json.loads(found[1])
    return asked, proposed, decided, states
