"""The recorded screens that static/js/output.js is held to are what a terminal shows: pyte is the witness.

Streams are given as the hosts send them, without a pty: a line feed also returns the carriage.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyte
import pytest

CASES = json.loads((Path(__file__).parents[1] / "js" / "cases" / "output.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_terminal_shows_the_recorded_screen(case: dict[str, object]) -> None:
    screen = pyte.Screen(240, 50)
    screen.set_mode(pyte.modes.LNM)
    pyte.Stream(screen).feed(str(case["input"]))
    shown = [line.rstrip() for line in screen.display]
    while shown and not shown[-1]:
        shown.pop()
    assert shown == case["screen"]
