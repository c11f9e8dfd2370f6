"""The operator's own rules: what they may say, and what they never can."""

from __future__ import annotations

from pathlib import Path

import pytest

from nomos.bootstrap.rules import load_rules
from nomos.domain.executions import Risk
from nomos.errors import SettingError
from nomos.risk import classify, read_rules

GOOD = """
[[rule]]
hosts = ["nas"]
command = "midclt call replication.run **"
risk = "read"
why = "only looks here"
must_match = ["midclt call replication.run 1"]
must_not_match = ["midclt call pool.create 1"]

[[rule]]
command = "mystat *"
risk = "read"
why = "my own reading script"
must_match = ["mystat disks"]
must_not_match = ["mystat", "mystat a b"]

[[rule]]
command = "rm **"
risk = "read"
why = "no"
must_match = ["rm x"]
must_not_match = ["ls"]

[[rule]]
command = "uptime **"
risk = "destroy"
why = "never here"
must_match = ["uptime"]
must_not_match = ["ls"]
"""
RULES = read_rules(GOOD, "risk.toml")


def test_a_rule_holds_for_its_hosts() -> None:
    assert classify("midclt call replication.run 1", RULES.for_host("nas")).risk is Risk.READ
    assert classify("midclt call replication.run 1", RULES.for_host("pve")).risk is Risk.CHANGE


def test_a_program_that_nomos_does_not_know_can_be_named() -> None:
    assert classify("mystat disks").risk is Risk.DESTROY
    verdict = classify("sudo mystat disks | head", RULES.for_host("pve"))
    assert verdict.risk is Risk.READ
    assert classify("mystat $x", RULES).risk is Risk.DESTROY


def test_what_destroys_is_never_made_less() -> None:
    assert classify("rm x", RULES).risk is Risk.DESTROY


def test_a_rule_can_be_stricter_and_says_why() -> None:
    verdict = classify("uptime", RULES)
    assert verdict.risk is Risk.DESTROY
    assert "never here" in verdict.why


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('risk = "read"\nwhy = "only', 'risk = "harmless"\nwhy = "only'), "rule 1: risk is"),
        (("[[rule]]\nhosts", "[[rul]]\nhosts"), "there is no rul"),
        (('hosts = ["nas"]', 'host = "nas"'), "rule 1: there is no key host"),
        (('must_match = ["mystat disks"]', 'must_match = ["mystat"]'), "rule 2: it must match “mystat”"),
        (('must_not_match = ["mystat", ', 'must_not_match = ["mystat x", '), "rule 2: it must not match"),
        (('must_match = ["uptime"]', "must_match = []"), "rule 4: give an example"),
        (('command = "rm **"', 'command = "**"'), "rule 3: a command begins"),
        (('command = "rm **"', 'command = "rm \'x"'), "rule 3: the quotes"),
        (('why = "no"', 'why = ""'), "rule 3: it needs"),
        (('hosts = ["nas"]', 'hosts = "nas"'), "rule 1: hosts is a list"),
        (("[[rule]]\nhosts", "[[rule]\nhosts"), "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(change: tuple[str, str], says: str) -> None:
    assert change[0] in GOOD
    with pytest.raises(SettingError, match=r"risk\.toml") as caught:
        read_rules(GOOD.replace(*change, 1), "risk.toml")
    assert says in caught.value.detail


def test_an_empty_file_has_no_rules() -> None:
    assert read_rules("", "risk.toml").rules == ()


def test_the_file_of_the_data_folder_is_read(tmp_path: Path) -> None:
    assert load_rules(tmp_path).rules == ()
    (tmp_path / "risk.toml").write_text(GOOD, "utf-8")
    assert load_rules(tmp_path) == RULES
    (tmp_path / "risk.toml").write_bytes(b"\xff")
    with pytest.raises(SettingError, match=r"risk\.toml cannot be read"):
        load_rules(tmp_path)
