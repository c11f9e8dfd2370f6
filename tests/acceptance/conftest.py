"""What the acceptance tests share: one running Nomos, because starting one takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.lab import Lab


@pytest.fixture(scope="session")
def running_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with Lab(tmp_path_factory.mktemp("lab"), NOMOS_SYNC_SECONDS="3") as lab:
        yield lab


@pytest.fixture
def lab(running_lab: Lab) -> Iterator[Lab]:
    """The shared Nomos; whatever a test does, every request that the model sees must be lawful and foreseen."""
    begun = len(running_lab.talks)
    unlawful, unexpected = len(running_lab.model.unlawful), len(running_lab.model.unexpected)
    yield running_lab
    running_lab.clear_away(running_lab.talks[begun:])
    assert not running_lab.model.unlawful[unlawful:]
    assert not running_lab.model.unexpected[unexpected:], "a turn asked more often than its script says"
