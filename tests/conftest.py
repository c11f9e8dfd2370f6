"""What holds for every test: no stray settings, no network but loopback, no clock-bound verdicts."""

from __future__ import annotations

import os

import hypothesis

# At import, before any test module can read them: a developer's own key or database must never be used by a test.
for _name in list(os.environ):
    if _name.startswith(("NOMOS_", "ANTHROPIC_", "DATABASE_URL", "PG")):
        del os.environ[_name]

# The machine may be slow and shared: how long an example takes says nothing about whether it is right.
hypothesis.settings.register_profile("nomos", deadline=None, print_blob=True)
hypothesis.settings.load_profile("nomos")
