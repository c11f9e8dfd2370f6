"""Random texts, judged by the real bash: a short form of scripts/fuzz_risk.py, which ``make fuzz`` runs at length."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "fuzz_risk.py"
STRINGS = 2000


def test_nothing_that_is_let_pass_starts_a_hidden_command() -> None:
    fuzz = runpy.run_path(str(SCRIPT))["fuzz"]
    counts, lost = fuzz(STRINGS, 20)
    assert lost == []
    assert counts["let pass, and run by bash"] > STRINGS / 20
