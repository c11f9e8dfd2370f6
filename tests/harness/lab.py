"""One whole Nomos with a scripted model, a real host ``lab`` and a practice host, shared by many tests.

Each test talks in sessions of its own: a word that is in its first message picks its script, so that turns of
several sessions can run side by side.
"""

from __future__ import annotations

import shlex
import uuid
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nomos.rehearsal.model.protocol import Response
from tests.harness import answers
from tests.harness.answers import Answer, Request
from tests.harness.api import Api, Feed
from tests.harness.model_server import ScriptedModelServer
from tests.harness.practice import RunningPractice
from tests.harness.sshd import Sshd, running_sshd
from tests.harness.stack import Stack


def run(command: str, host: str = "lab") -> answers.Call:
    """A call of the tool ``run``."""
    return ("run", {"host": host, "command": command, "reason": "a test asks for it"})


def asks(*commands: str, host: str = "lab") -> Answer:
    """An answer that calls ``run`` for each command."""
    return answers.calls(*(run(command, host) for command in commands))


def proposes(*commands: str, host: str = "lab") -> Answer:
    """An answer that proposes a plan of these commands, which may run side by side."""
    steps = [{"host": host, "command": command, "why": "it is needed", "parallel": True} for command in commands]
    return answers.calls(("propose_plan", {"goal": "what was asked for", "steps": steps, "verify": "by looking"}))


def concludes(outcome: str = "verified", words: str = "All done.") -> Answer:
    """An answer that ends the work."""
    return answers.calls(("conclude", {"outcome": outcome, "evidence": "seen"}), words=words)


class Talk:
    """One session and its script."""

    def __init__(self, lab: Lab, script: tuple[Answer, ...]) -> None:
        self.lab = lab
        self.word = f"word-{uuid.uuid4().hex[:12]}"
        self.requests: list[Request] = []
        lab.model.when(self.word, *map(self._kept, script))
        self.id = lab.api.new_session()

    def _kept(self, answer: Answer) -> Answer:
        """The answer, keeping what it answers: ``requests`` holds what the model was asked in this session."""

        def kept(request: Request) -> Response:
            self.requests.append(request)
            return answer(request)

        return kept

    @property
    def api(self) -> Api:
        """The signed-in client."""
        return self.lab.api

    @property
    def snapshot(self) -> Any:
        """The session now."""
        return self.api.snapshot(self.id)

    def say(self, text: str) -> None:
        """Say something more."""
        answer = self.api.say(self.id, text)
        assert answer.status == 202, answer.text

    def until_state(self, *states: str, timeout: float = 90) -> Any:
        """Wait for a state that a turn leads to, when nobody holds the session any more; returns the snapshot."""
        return self.api.until(
            self.id,
            lambda s: s["session"]["state"] in states and not any(m["status"] in OPEN for m in s["messages"]),
            f"the session to be {' or '.join(states)}",
            timeout,
        )

    def approve(self, **more: Any) -> Any:
        """Approve the open question; returns the approval as answered."""
        answer = self.api.decide(self.api.pending(self.id), **more)
        assert answer.status == 200, answer.text
        return answer.json

    def until_turns(self, count: int, timeout: float = 90) -> list[Any]:
        """Wait until so many turns have ended; returns their messages."""
        self.api.until(
            self.id, lambda s: len([m for m in turns(s) if m["status"] not in OPEN]) >= count, f"{count} turns", timeout
        )
        return turns(self.snapshot)

    def feed(self, query: str = "") -> Feed:
        """The session's own stream."""
        return self.api.feed(f"/sessions/{self.id}/events{query}")


OPEN = {"thinking", "working"}


def turns(snapshot: Any) -> list[Any]:
    """The agent's messages."""
    return [message for message in snapshot["messages"] if message["role"] == "agent"]


def notices(message: Any) -> list[Any]:
    """The notices of a message."""
    return [block for block in message["blocks"] if block["kind"] == "notice"]


def calls_of(message: Any) -> list[Any]:
    """The tool calls of a message."""
    return [block for block in message["blocks"] if block["kind"] == "tool_call"]


def words_of(message: Any) -> str:
    """The text of a message."""
    return "".join(block["text"] for block in message["blocks"] if block["kind"] == "text")


class Lab:
    """``with Lab(folder) as lab: talk = lab.talk("please", answers.text("Hello."))``."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.files = folder / "files"
        self.talks: list[Talk] = []
        self._exits = ExitStack()
        self._settings = settings

    def __enter__(self) -> Self:
        with ExitStack() as exits:
            self.files.mkdir(parents=True)
            self.model = exits.enter_context(ScriptedModelServer())
            self.sshd: Sshd = exits.enter_context(running_sshd(self.folder / "sshd"))
            self.stack = exits.enter_context(Stack(self.folder / "stack", model_url=self.model.url, **self._settings))
            self.practice = exits.enter_context(
                RunningPractice(self.folder / "practice", key_folder=self.stack.home / "ssh")
            )
            self.stack.authorize(self.sshd)
            self.stack.trust_host("lab", self.sshd.target())
            self.stack.trust_host("practice", self.practice.host.target())
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    @property
    def api(self) -> Api:
        """The signed-in client."""
        return self.stack.api

    def clear_away(self, talks: list[Talk]) -> None:
        """End what these sessions left running: commands that change something wait for each other on a host."""
        for talk in talks:
            for left in self.api.get(f"/executions?session={talk.id}").json["executions"]:
                if left["state"] in {"queued", "starting", "running"}:
                    self.api.post(f"/executions/{left['id']}/cancellation")

    def talk(self, text: str, *script: Answer) -> Talk:
        """Open a session whose model answers from ``script``, and say ``text``."""
        talk = self.silent(*script)
        talk.say(f"{text} ({talk.word})")
        return talk

    def silent(self, *script: Answer) -> Talk:
        """The same without saying anything yet; what is said first must hold ``word``."""
        self.talks.append(Talk(self, script))
        return self.talks[-1]

    def file(self, name: str = "") -> Path:
        """A path that commands on the host ``lab`` can use too."""
        return self.files / (name or uuid.uuid4().hex[:12])

    def noting(self, path: Path, word: str = "ran") -> str:
        """A command that changes something: adds a line to a file."""
        return f"echo {word} | tee -a {shlex.quote(str(path))}"

    def until_file(self, path: Path, first: str = "one", last: str = "two", *, asynchronous: bool = False) -> str:
        """A command that says ``first``, waits for a file, and says ``last``.

        ``asynchronous``: begun with a word that Nomos never waits for, and that comes to nothing here.
        """
        # Making a file is what has it asked about: waiting alone changes nothing.
        begin = "docker build 2>/dev/null" if asynchronous else self.changing
        return f"{begin}; echo {first}; while [ ! -e {shlex.quote(str(path))} ]; do sleep 0.05; done; echo {last}"

    @property
    def changing(self) -> str:
        """A command that says nothing and changes something, so that it is asked about."""
        return f"touch {shlex.quote(str(self.files / 'changed'))}"
