"""What holds for every test: no stray settings, no network but loopback, no clock-bound verdicts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import hypothesis
import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# At import, before any test module can read them: a developer's own key or database must never be used by a test.
for _name in list(os.environ):
    if _name.startswith(("NOMOS_", "ANTHROPIC_", "DATABASE_URL", "PG")):
        del os.environ[_name]

# The machine may be slow and shared: how long an example takes says nothing about whether it is right.
hypothesis.settings.register_profile("nomos", deadline=None, print_blob=True)
hypothesis.settings.load_profile("nomos")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium: one for all tests, because Playwright runs only once a process."""
    from tests.harness.visitor import chromium  # noqa: PLC0415 - only tests of the page load the browser's driver

    with chromium() as value:
        yield value
