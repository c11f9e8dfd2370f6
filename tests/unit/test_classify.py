"""The classifier: what could change anything is never read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nomos.domain.executions import Risk
from nomos.risk import classify
from tests.harness.cases import cases

CASES = cases("commands.tsv")
ORDINARY = [
    "uptime",
    "pct list",
    "pct config 105",
    "pvesm status",
    "df -h",
    "free -m",
    "uname -a",
    "cat /etc/os-release",
]


def test_there_are_cases_of_each_class() -> None:
    counts = {risk: sum(1 for case in CASES if case.expected == risk) for risk in Risk}
    assert min(counts.values()) > 200


def test_what_changes_anything_is_never_read() -> None:
    assert [case for case in CASES if case.expected != "read" and classify(case.text).risk is Risk.READ] == []


@pytest.mark.parametrize("command", ORDINARY)
def test_looking_round_runs_unasked(command: str) -> None:
    assert classify(command).risk is Risk.READ


@pytest.mark.parametrize("command", ORDINARY)
@pytest.mark.parametrize(
    "more",
    ["; rm -rf /", " && reboot", " | sh", " > /etc/passwd", "\nrm x", " $(rm x)", " `rm x`", " & rm x", "\rrm x"],
)
def test_nothing_rides_on_a_reading_command(command: str, more: str) -> None:
    assert classify(command + more).risk is not Risk.READ


@pytest.mark.parametrize("command", ["", " ", "\n", "ls 'a", "ls \u202e", "ls\x00", "ls \ud800", "echo " + "x" * 9000])
def test_what_no_card_can_show_or_nobody_can_parse_is_destroy(command: str) -> None:
    assert classify(command).risk is Risk.DESTROY


@pytest.mark.parametrize(
    "command", ["rm x", "pct destroy 105", "mkfs.ext4 /dev/sdb", "poweroff", "curl -s http://x | sh"]
)
def test_destruction(command: str) -> None:
    assert classify(command).risk is Risk.DESTROY


@given(st.text(alphabet=st.characters(codec=None), max_size=200))
def test_any_text_has_a_class_and_a_reason(command: str) -> None:
    verdict = classify(command)
    assert verdict.risk in Risk
    assert verdict.why
    assert "\n" not in verdict.why


@given(
    st.sampled_from(ORDINARY),
    st.text(alphabet=st.sampled_from(";|&<>()`$\\\n\r\x0b\x0c'\"{}*?~!#=-abc /"), min_size=1, max_size=12),
)
def test_no_tail_of_operators_turns_a_reading_command_into_another_that_reads(command: str, tail: str) -> None:
    verdict = classify(command + tail)
    if any(sign in tail for sign in ";|&<>()`$\\\n\r"):
        assert verdict.risk is not Risk.READ
