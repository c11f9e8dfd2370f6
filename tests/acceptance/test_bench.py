"""``nomos bench`` as an operator runs it. Looked at is the shape of its report, never how fast this machine is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from nomos.rehearsal.bench.figures import FIGURES, Found, table
from tests.harness.practice import run_in_practice_shell

ROOT = Path(__file__).parents[2]


def bench(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    # The operator's own Nomos is elsewhere, and must stay as it is.
    settings = {"NOMOS_HOME": str(folder / "own"), "DATABASE_URL": f"sqlite:///{folder / 'own.db'}"}
    temporary = folder / "temporary"
    temporary.mkdir()
    return subprocess.run(
        [sys.executable, "-m", "nomos", "bench", *words], cwd=ROOT, text=True, capture_output=True, timeout=120,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(temporary), **settings}, check=False,
    )  # fmt: skip


def test_it_reports_figures_through_real_processes_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = bench(tmp_path, "--json", "--rounds", "1", "--only", "placeholder", "--only", "line")
    assert (done.returncode, done.stderr) == (0, "")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    assert [(one["figure"], one["bar"]) for one in found] == [("placeholder", 100), ("line", 250)]
    for one in found:
        assert 0 < one["min"] <= one["p50"] <= one["p99"] <= one["max"]
        assert one["n"] >= 1
        assert one["unit"] == "ms"
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]
    assert list((tmp_path / "temporary").iterdir()) == []


def test_parts_alone_are_measured_without_processes(tmp_path: Path) -> None:
    done = bench(tmp_path, "--rounds", "1", "--only", "classify", "--only", "job_start")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["figure", "job_start", "classify"]


def test_a_figure_that_there_is_not_is_wrong_usage(tmp_path: Path) -> None:
    done = bench(tmp_path, "--only", "warp")
    assert done.returncode == 2
    assert "warp is none of placeholder, " in done.stderr


@pytest.mark.parametrize(
    ("count", "share", "place"), [(1, 0.5, 0), (1, 0.99, 0), (2, 0.5, 0), (3, 0.5, 1), (99, 0.99, 98), (200, 0.99, 197)]
)
def test_a_percentile_is_a_value_that_was_measured(count: int, share: float, place: int) -> None:
    assert Found.of("line", range(count - 1, -1, -1)).percentile(share) == place


def test_every_figure_can_be_shown() -> None:
    lines = table([Found.of(name, [1.0, 20.0]) for name in FIGURES]).splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(FIGURES)


def test_every_figure_is_on_its_page() -> None:
    page = (ROOT / "docs/bench.md").read_text(encoding="utf-8")
    assert [name for name in FIGURES if f"| `{name}` |" not in page] == []


def test_the_ticker_prints_when_it_prints(tmp_path: Path) -> None:
    began = time.monotonic()
    ran = run_in_practice_shell(tmp_path, "ticker 3 0.01")
    stamps = [float(line) for line in ran.out.splitlines()]
    assert (ran.code, ran.err, len(stamps)) == (0, "", 3)
    assert began - 0.001 <= stamps[0] < stamps[1] < stamps[2] <= time.monotonic() + 0.001


@pytest.mark.parametrize("words", ["", "3", "-1 1", "3 x", "99999 0", "100 100"])
def test_the_ticker_refuses_what_would_never_end(tmp_path: Path, words: str) -> None:
    ran = run_in_practice_shell(tmp_path, f"ticker {words}")
    assert (ran.code, ran.out) == (2, "")
    assert "ticker" in ran.err
