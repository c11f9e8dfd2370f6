"""x"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.harness.lab import Lab
from tests.harness.sshd import Sshd, running_sshd
from tests.harness.stack import Stack
from tests.harness.visitor import NAME, PASSWORD, Visitor

Visit = Callable[..., Visitor]


@pytest.fixture(scope="session")
def rehearsal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """The rehearsal, as on a machine with no key and no host."""
    with Stack(tmp_path_factory.mktemp("rehearsal")) as stack:
        stack.add_user(NAME, PASSWORD)
        yield stack


@pytest.fixture(scope="session")
def running_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Nomos with a scripted model and a real host called ``lab``."""
    with Lab(tmp_path_factory.mktemp("lab")) as lab:
        lab.stack.add_user(NAME, PASSWORD)
        yield lab


@pytest.fixture
def lab(running_lab: Lab) -> Iterator[Lab]:
    """The shared Nomos; every request that the model saw must have been lawful and expected."""
    yield running_lab
    assert running_lab.model.unlawful == []
    assert running_lab.model.unexpected == []


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """A real SSH server."""
    with running_sshd(tmp_path / "sshd") as server:
        yield server


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
