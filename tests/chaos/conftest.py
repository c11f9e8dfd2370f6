"""What the chaos tests share: one SSH server, one model without a memory, one nursery of workers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.figures import LONG, Figures
from tests.chaos.script import decide
from tests.chaos.world import Databases, Nursery, short_folder
from tests.harness.model_server import ScriptedModelServer
from tests.harness.postgres import Postgres, running_postgres
from tests.harness.sshd import Sshd, running_sshd

MANY = ("MaxStartups 200:30:400", "MaxSessions 100")


@pytest.fixture(scope="session")
def chaos_folder() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture(scope="session")
def sshd(chaos_folder: Path) -> Iterator[Sshd]:
    with running_sshd(chaos_folder / "sshd", options=MANY) as server:
        yield server


@pytest.fixture
def model() -> Iterator[ScriptedModelServer]:
    """A model without a memory; every request that it got must have been lawful."""
    with ScriptedModelServer(decide) as server:
        yield server
    assert not server.unlawful, server.unlawful[0]


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as found:
        yield found


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with running_postgres() as server:
        yield server


@pytest.fixture(scope="session")
def databases(chaos_folder: Path, sshd: Sshd, postgres: Postgres) -> Databases:
    (chaos_folder / "databases").mkdir()
    return Databases(chaos_folder / "databases", sshd.target(), postgres)


@pytest.fixture(scope="session")
def every_figure() -> Figures:
    return Figures()


@pytest.fixture
def figures(every_figure: Figures) -> Iterator[Figures]:
    """What is measured; the long form writes it into the docs after each test."""
    yield every_figure
    if LONG:
        every_figure.write()
