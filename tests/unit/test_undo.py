"""Ways back: which commands a snapshot helps, and which words of a plan are a command."""

from __future__ import annotations

import pytest

from nomos.domain.executions import State
from nomos.domain.undo import (
    Guest,
    cannot_snapshot,
    helped_guest,
    is_open,
    no_snapshot_words,
    snapshot_name,
    undo_command,
    undo_of,
)
from tests.harness.values import NOW, execution


@pytest.mark.parametrize(
    ("command", "guest"),
    [
        ("pct stop 105", Guest("pct", 105)),
        ("pct set 105 --memory 1024", Guest("pct", 105)),
        ("pct exec 105 -- apt-get install -y nginx", Guest("pct", 105)),
        ("sudo qm resize 9000 scsi0 +10G", Guest("qm", 9000)),
        ("qm guest exec 100 -- reboot", Guest("qm", 100)),
        ("pct create 105 local:vztmpl/debian.tar.zst", None),
        ("pct start 105", None),
        ("pct destroy 105", None),
        ("pct rollback 105 before", None),
        ("pct template 105", None),
        ("pct list", None),
        ("echo pct stop 105", None),
        ("pct stop 105x", None),
    ],
)
def test_the_guest_that_a_snapshot_could_bring_back(command: str, guest: Guest | None) -> None:
    assert helped_guest(command) == guest


def test_the_commands_of_a_guest() -> None:
    assert Guest("qm", 100).snapshot("nomos-1") == "qm snapshot 100 nomos-1"
    assert Guest("pct", 105).rollback("nomos-1") == "pct rollback 105 nomos-1"
    assert snapshot_name("3b1c6f0e-0000-4000-8000-000000000001") == "nomos-3b1c6f0e"


def test_where_no_snapshot_helps_the_card_says_so() -> None:
    assert "vzdump 105" in (no_snapshot_words("pct destroy 105 --purge") or "")
    assert "rollback" in (no_snapshot_words("pct rollback 105 a") or "")
    assert "template" in (no_snapshot_words("qm template 105") or "")
    assert no_snapshot_words("pct stop 105") is None
    assert no_snapshot_words("rm -rf /srv") is None


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("pct destroy 105 --purge", "pct destroy 105 --purge"),
        ("`systemctl start web`", "systemctl start web"),
        ("/usr/sbin/ufw disable", "/usr/sbin/ufw disable"),
        ("poweroff", "poweroff"),
        ("Not possible.", None),
        ("none", None),
        ("cannot be undone", None),
        ("restore the backup by hand.", None),
        ("run pct start 105", None),
        ("pct stop 105\npct destroy 105", None),
        ("", None),
        (None, None),
    ],
)
def test_only_a_command_counts_as_the_way_back(text: str | None, command: str | None) -> None:
    assert undo_command(text) == command


@pytest.mark.parametrize("state", list(State))
def test_it_can_be_undone_once_it_was_started_and_is_over(state: State) -> None:
    over = {State.SUCCEEDED, State.FAILED, State.TIMED_OUT, State.CANCELLED, State.UNKNOWN}
    value = execution(state, undo="pct start 105", started_at=NOW)
    assert (undo_of(value) is not None) is (state in over)
    assert undo_of(execution(state, undo="pct start 105")) is None
    assert undo_of(execution(state, started_at=NOW)) is None


def test_an_undoing_that_did_not_work_may_be_proposed_again() -> None:
    assert {state for state in State if is_open(state)} == {
        State.WAITING, State.QUEUED, State.STARTING, State.RUNNING, State.SUCCEEDED, State.UNKNOWN,
    }  # fmt: skip


def test_what_proxmox_says_of_a_storage_without_snapshots() -> None:
    assert cannot_snapshot("x\nsnapshot feature is not available\n") == "snapshot feature is not available"
    assert cannot_snapshot("CT is locked") is None
