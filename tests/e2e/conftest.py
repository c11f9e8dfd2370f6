"""One browser for all end-to-end tests; a whole Nomos for each file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.harness.model_server import ScriptedModelServer
from tests.harness.sshd import Sshd, running_sshd
from tests.harness.stack import Stack
from tests.harness.visitor import NAME, PASSWORD, Visitor, chromium

Visit = Callable[..., Visitor]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium."""
    with chromium() as value:
        yield value


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The rehearsal, as on a machine with no key and no host."""
    with Stack(tmp_path_factory.mktemp("rehearsal")) as stack:
        stack.add_user(NAME, PASSWORD)
        yield stack


@pytest.fixture
def model() -> Iterator[ScriptedModelServer]:
    """A scripted model; every request it gets must be lawful and expected."""
    with ScriptedModelServer() as server:
        yield server
        assert server.unlawful == []
        assert server.unexpected == []


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """A real SSH server."""
    with running_sshd(tmp_path / "sshd") as server:
        yield server


@pytest.fixture
def scripted(tmp_path: Path, model: ScriptedModelServer, sshd: Sshd) -> Iterator[Stack]:
    """Nomos with the scripted model and one real host called ``box``."""
    with Stack(tmp_path / "stack", model_url=model.url) as stack:
        stack.add_user(NAME, PASSWORD)
        stack.add_host("box", sshd)
        yield stack


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """Open browsers of operators who are signed in; at the end no console may hold a complaint."""
    visitors: list[Visitor] = []

    def make(stack: Stack, *, width: int = 1280, height: int = 900) -> Visitor:
        visitor = Visitor(browser, stack, width=width, height=height)
        visitors.append(visitor)
        visitor.sign_in()
        return visitor

    yield make
    for visitor in visitors:
        visitor.context.close()
    for visitor in visitors:
        visitor.silent()
