"""The operator's own rules of risk hold where commands are asked about, and only on the hosts that they name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nomos.actions import judging
from nomos.bootstrap.rules import load_rules
from nomos.domain.executions import State
from nomos.errors import SettingError
from nomos.risk import Rules
from tests.harness.scene import Scene


@pytest.fixture(autouse=True)
def _no_rules_afterwards() -> Iterator[None]:
    yield
    judging.use(Rules())


RULES = """
[[rule]]
hosts = ["nas"]
command = "labstat"
risk = "read"
why = "it only prints"
must_match = ["labstat"]
must_not_match = ["labstat --reset"]
"""


def test_a_rule_of_the_data_folder_lets_a_program_of_ones_own_read(scene: Scene, tmp_path: Path) -> None:
    assert judging.verdict_of("labstat", "nas").asks_as != "read"
    (tmp_path / "risk.toml").write_text(RULES, encoding="utf-8")
    judging.use(load_rules(tmp_path))
    assert judging.verdict_of("labstat", "nas").asks_as == "read"
    assert judging.verdict_of("labstat", "pve1").asks_as != "read"
    scene.begin()
    scene.say("how is the lab?")
    turn = scene.must_turn()
    assert scene.run(turn, "labstat")[1].state is State.QUEUED


def test_a_rule_that_does_not_keep_its_examples_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "risk.toml").write_text(RULES.replace('must_match = ["labstat"]', 'must_match = ["other"]'), "utf-8")
    with pytest.raises(SettingError, match=r"risk\.toml"):
        load_rules(tmp_path)
